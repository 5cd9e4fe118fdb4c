/** What the kind tables know of custom objects: their metadata. The memo holds compiled decoders of immutable tables. */
import { builtinSchema } from '../../api/schema.ts';
import { CustomObjects } from '../../apimachinery/structural-schema/object-metadata.ts';
import { once } from '../../base/once.ts';

export const customObjects: () => CustomObjects = once(() => new CustomObjects(builtinSchema()));
