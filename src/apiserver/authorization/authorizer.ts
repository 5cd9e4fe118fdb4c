/** May they? Authorizers are asked in order; the first `allow` or `deny` decides, and if none decides the answer is no. */
import type { RequestInfo, UserInfo } from '../request.ts';

export interface AuthorizationAttributes {
  readonly user: UserInfo;
  readonly info: RequestInfo;
}

export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'no-opinion';
  /** Shown to the user on refusal and in access reviews, in upstream's words. */
  readonly reason: string;
  /** What kept an authorizer from deciding. A request that is not allowed nevertheless fails with it as an internal error. */
  readonly error?: string | undefined;
}

export interface Authorizer {
  readonly name: string;
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> | AuthorizationDecision;
}
