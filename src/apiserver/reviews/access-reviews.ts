/** May he? SubjectAccessReview for anybody, SelfSubjectAccessReview for oneself, LocalSubjectAccessReview within one namespace. */
import {
  type LocalSubjectAccessReview,
  localSubjectAccessReviews,
  type NonResourceAttributes,
  type ResourceAttributes,
  type SelfSubjectAccessReview,
  type SelfSubjectRulesReview,
  type SubjectAccessReview,
  type SubjectAccessReviewStatus,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from '../../api/gen/authorization-v1.ts';
import { type FieldError, invalid as invalidValue, path } from '../../apimachinery/field-error.ts';
import { badRequest, invalid } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import { pathAccess, resourceAccess } from '../authorization/access.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import { errorsText } from '../authorization/rule-resolver.ts';
import type { RuleSource } from '../authorization/user-rules.ts';
import type { Handler, UserInfo } from '../request.ts';
import { readSelectors, selectorErrors } from './access-selectors.ts';
import { reviewHandler } from './review-handler.ts';

interface AccessSpec {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
}

const group = 'authorization.k8s.io';

export type AccessReviewResource =
  | 'subjectaccessreviews'
  | 'localsubjectaccessreviews'
  | 'selfsubjectaccessreviews'
  | 'selfsubjectrulesreviews';

export function accessReviewHandlers(options: {
  readonly authorizer: Authorizer;
  readonly userRules: RuleSource;
  readonly admission: () => AdmissionChain;
  readonly clock: Clock;
}): Readonly<Record<AccessReviewResource, Handler>> {
  const { authorizer, userRules, admission, clock } = options;
  const subject = reviewHandler<SubjectAccessReview>({
    resource: subjectAccessReviews,
    kind: subjectAccessReviews,
    admission,
    clock,
    async review(review, context) {
      refuse([...specErrors(review.spec), ...subjectErrors(review.spec), ...metadataErrors(review.metadata, false)]);
      await context.validateAdmission();
      return { ...review, status: await answer(authorizer, subjectOf(review.spec), review.spec) };
    },
  });
  const local = reviewHandler<LocalSubjectAccessReview>({
    resource: localSubjectAccessReviews,
    kind: localSubjectAccessReviews,
    admission,
    clock,
    async review(review, context) {
      const errors = [
        ...specErrors(review.spec),
        ...subjectErrors(review.spec),
        ...metadataErrors(review.metadata, true),
      ];
      refuse([...errors, ...localErrors(review as LocalSubjectAccessReview)]);
      await context.validateAdmission();
      return { ...review, status: await answer(authorizer, subjectOf(review.spec), review.spec) };
    },
  });
  const self = reviewHandler<SelfSubjectAccessReview>({
    resource: selfSubjectAccessReviews,
    kind: selfSubjectAccessReviews,
    admission,
    clock,
    async review(review, context) {
      refuse([...specErrors(review.spec), ...metadataErrors(review.metadata, false)]);
      await context.validateAdmission();
      return { ...review, status: await answer(authorizer, context.user, review.spec) };
    },
  });
  const rules = reviewHandler<SelfSubjectRulesReview>({
    resource: selfSubjectRulesReviews,
    kind: selfSubjectRulesReviews,
    admission,
    clock,
    async review(review, context) {
      const namespace = review.spec.namespace ?? '';
      if (namespace === '') throw badRequest('no namespace on request');
      await context.validateAdmission();
      const { resourceRules, nonResourceRules, incomplete, errors } = userRules.userRules(context.user, namespace);
      const evaluationError = errors.length > 0 ? { evaluationError: errorsText(errors) } : {};
      return { metadata: {}, spec: {}, status: { resourceRules, nonResourceRules, incomplete, ...evaluationError } };
    },
  });
  return {
    subjectaccessreviews: subject,
    localsubjectaccessreviews: local,
    selfsubjectaccessreviews: self,
    selfsubjectrulesreviews: rules,
  };
}

/** The question a review asks, as the authorizers take it. Exactly one of the two kinds of attributes is set. */
function authorizationFor(user: UserInfo, spec: AccessSpec): AuthorizationAttributes {
  const { resourceAttributes: attributes, nonResourceAttributes } = spec;
  if (!attributes) {
    const { verb = '', path: url = '' } = nonResourceAttributes ?? {};
    return pathAccess(user, { verb, path: url });
  }
  const { fieldSelector, labelSelector } = readSelectors(attributes);
  return resourceAccess(user, {
    verb: attributes.verb ?? '',
    group: attributes.group,
    version: attributes.version,
    resource: attributes.resource ?? '',
    subresource: attributes.subresource,
    namespace: attributes.namespace,
    name: attributes.name,
    fieldSelector,
    labelSelector,
  });
}

async function answer(authorizer: Authorizer, user: UserInfo, spec: AccessSpec): Promise<SubjectAccessReviewStatus> {
  const attributes = authorizationFor(user, spec);
  const { decision, reason, error } = await authorizer.authorize(attributes);
  const ignored = spec.resourceAttributes ? readSelectors(spec.resourceAttributes).problems : [];
  const evaluationError = [...(error ? [error] : []), ...ignored].join('; ');
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' ? { denied: true } : {}),
    ...(reason === '' ? {} : { reason }),
    ...(evaluationError === '' ? {} : { evaluationError }),
  };
}

function subjectOf(spec: SubjectAccessReview['spec']): UserInfo {
  return { name: spec.user ?? '', groups: spec.groups ?? [], uid: spec.uid, extra: spec.extra };
}

function specErrors(spec: AccessSpec): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const at = path('spec');
  if (resourceAttributes && nonResourceAttributes) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue(at.child('nonResourceAttributes'), shownPath(nonResourceAttributes), detail)];
  }
  if (resourceAttributes) return [...selectorErrors(resourceAttributes)];
  if (nonResourceAttributes) return [];
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue(at.child('resourceAttributes'), null, detail)];
}

/** As upstream shows it: in the fields of its internal type. */
function shownPath({ path: Path = '', verb: Verb = '' }: NonResourceAttributes): object {
  return { Path, Verb };
}

function subjectErrors(spec: SubjectAccessReview['spec']): FieldError[] {
  if (spec.user || spec.groups?.length) return [];
  return [invalidValue(path('spec', 'user'), spec.user ?? '', 'at least one of user or group must be specified')];
}

function metadataErrors(metadata: SubjectAccessReview['metadata'], namespaced: boolean): FieldError[] {
  const { managedFields: _managed, namespace, ...rest } = metadata;
  const filled = Object.values(namespaced ? rest : { ...rest, namespace }).some(
    (value) => value !== undefined && value !== null && value !== '',
  );
  if (!filled) return [];
  return [
    invalidValue(path('metadata'), metadata, namespaced ? 'must be empty except for namespace' : 'must be empty'),
  ];
}

function localErrors({ spec, metadata }: LocalSubjectAccessReview): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const elsewhere = resourceAttributes && (resourceAttributes.namespace ?? '') !== metadata.namespace;
  const at = path('spec', 'resourceAttributes', 'namespace');
  return [
    ...(elsewhere ? [invalidValue(at, resourceAttributes.namespace ?? '', 'must match metadata.namespace')] : []),
    ...(nonResourceAttributes
      ? [
          invalidValue(
            path('spec', 'nonResourceAttributes'),
            shownPath(nonResourceAttributes),
            'disallowed on this kind of request',
          ),
        ]
      : []),
  ];
}

/** As upstream: without the name of the kind. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group, kind: '' }, '', errors);
}
