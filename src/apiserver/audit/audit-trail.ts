/** What a request tells of itself to the audit log while it is worked on. */
import type { UserInfo } from '../../serving/user-info.ts';
import type { AuditLevel } from './event.ts';

export interface AuditTrail {
  /** Whether requests' objects are told of, so that nobody encodes what is not. */
  readonly tellsRequest: boolean;
  readonly tellsResponse: boolean;
  /** `constraint`: the narrower right that allowed it, if there was one. */
  impersonated(user: UserInfo, constraint?: string): void;
  /** The decoded object of a create or an update, in the version of the request. */
  requestObject(object: unknown): void;
  /** A patch as it came. */
  requestPatch(text: string): void;
  annotate(key: string, value: string, level?: AuditLevel): void;
}
