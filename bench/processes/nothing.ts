/** A Node.js that has loaded nothing but the way to its parent: what every process of ours costs before it does anything. */
import { answer } from '../parts/child.ts';

answer({});
