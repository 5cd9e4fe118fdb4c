/** Who is asking? Authenticators are asked in order; the first that recognises the request decides. */
import type { ApiRequest, UserInfo } from '../request.ts';

export interface AuthenticationResult {
  readonly user: UserInfo;
  readonly audiences?: readonly string[] | undefined;
  /** What the audit log is to tell of the credential. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** What the client is to be told of it. */
  readonly warnings?: readonly string[] | undefined;
}

export interface Authenticator {
  readonly name: string;
  /** Undefined: not my kind of credential. Throwing: a credential of my kind that is not valid (the request becomes 401). */
  authenticate(request: ApiRequest): Promise<AuthenticationResult | undefined>;
}
