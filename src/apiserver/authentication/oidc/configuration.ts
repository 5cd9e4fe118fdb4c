/**
 * `AuthenticationConfiguration` of `apiserver.config.k8s.io`: identity providers whose tokens are believed, and who may come in
 * without any.
 */
export interface AuthenticationConfiguration {
  readonly jwt?: readonly JwtConfiguration[] | undefined;
  readonly anonymous?: AnonymousConfiguration | undefined;
}

export interface AnonymousConfiguration {
  readonly enabled?: boolean | undefined;
  readonly conditions?: readonly { readonly path?: string | undefined }[] | undefined;
}

/** One provider: how its tokens are known to be its own, what they must say, and whom they make. */
export interface JwtConfiguration {
  readonly issuer?: IssuerConfiguration | undefined;
  readonly claimValidationRules?: readonly ClaimValidationRule[] | undefined;
  readonly claimMappings?: ClaimMappings | undefined;
  readonly userValidationRules?: readonly UserValidationRule[] | undefined;
}

export interface IssuerConfiguration {
  readonly url?: string | undefined;
  readonly discoveryURL?: string | undefined;
  /** PEM. */
  readonly certificateAuthority?: string | undefined;
  readonly audiences?: readonly string[] | undefined;
  readonly audienceMatchPolicy?: string | undefined;
  readonly egressSelectorType?: string | undefined;
}

export interface ClaimValidationRule {
  readonly claim?: string | undefined;
  readonly requiredValue?: string | undefined;
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}

export interface ClaimOrExpression {
  readonly claim?: string | undefined;
  readonly expression?: string | undefined;
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string | undefined;
}

export interface ClaimMappings {
  readonly username?: PrefixedClaimOrExpression | undefined;
  readonly groups?: PrefixedClaimOrExpression | undefined;
  readonly uid?: ClaimOrExpression | undefined;
  readonly extra?: readonly { readonly key?: string | undefined; readonly valueExpression?: string | undefined }[];
}

export interface UserValidationRule {
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}
