/** How plugins say no: `pods "web" is forbidden: message`, with the best name that is known for the object. */
import { forbidden, isForbidden, messageOf, type StatusError } from '../../apimachinery/status.ts';
import type { AdmissionAttributes } from './admission.ts';

/** The refusal of this request. An error that already is a refusal is passed on as it is. */
export function refusal(attributes: AdmissionAttributes, why: string | unknown): StatusError {
  if (isForbidden(why)) return why;
  return forbidden(attributes.resource, objectName(attributes), typeof why === 'string' ? why : messageOf(why));
}

/** A name made from `generateName` does not exist yet; upstream shows the prefix. */
function objectName({ name, object }: AdmissionAttributes): string {
  if (name !== '') return name;
  return object?.metadata?.name || object?.metadata?.generateName || 'Unknown';
}
