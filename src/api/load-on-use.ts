/** Parts of this folder that are loaded when they are first worked with. */
import { loaderFrom } from '../base/load-on-use.ts';

/** What `file`, named from this folder, exports as `name`. */
export const loadOnUse: <T>(file: string, name: string) => T = loaderFrom(import.meta.url);
