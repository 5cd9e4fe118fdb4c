/**
 * What the controllers are given wherever they run: beside the API server, as a process of their own, on virtual time. What differs
 * between these is an argument that each of them has to name; a controller that needs something new gets it here, once.
 */
import type { Client } from '../../client/client.ts';
import { runControllerManager } from '../../controllers/controllers.ts';
import type { ControllerManagerOptions } from '../../controllers/options.ts';
import type { TokenSigner } from '../../pki/token-signer.ts';
import { type ComponentContext, componentContext } from '../../reconcile/component.ts';

export interface ControllerSurroundings {
  readonly rootCA: ControllerManagerOptions['rootCA'];
  readonly certificateAuthority: ControllerManagerOptions['certificateAuthority'];
  readonly signers: ControllerManagerOptions['signers'];
  readonly nodeIpam: ControllerManagerOptions['nodeIpam'];
  /** Signs the tokens of Secrets, as `legacyIssuer`; undefined: Secrets get none. */
  readonly legacyTokens: Pick<TokenSigner, 'sign'> | undefined;
  /** With the rights of this ServiceAccount of `kube-system`; undefined: all act as the manager itself. */
  readonly clientOf: ((serviceAccount: string) => Client) | undefined;
  /** Whether nobody else can still be creating in a namespace that is going. */
  readonly isOnlyApiServer: boolean;
}

/** What flags say wherever the controllers run: nothing that their surroundings give them. */
export type ControllerTuning = Omit<
  ControllerManagerOptions,
  | 'rootCA'
  | 'certificateAuthority'
  | 'signers'
  | 'nodeIpam'
  | 'signLegacyToken'
  | 'quotaEvaluator'
  | 'contextFor'
  | 'namespaceDeletionGraceMs'
>;

/** Runs until the context's signal is aborted. */
export function runControllers(
  context: ComponentContext,
  surroundings: ControllerSurroundings,
  tuned: ControllerTuning = {},
): Promise<void> {
  const { legacyTokens, clientOf, isOnlyApiServer, ...given } = surroundings;
  return runControllerManager(context, {
    ...tuned,
    ...given,
    signLegacyToken: legacyTokens && ((claims) => legacyTokens.sign(claims)),
    quotaEvaluator: () => import('../../apiserver/admission/quota/usage.ts'),
    ...(isOnlyApiServer ? { namespaceDeletionGraceMs: 0 } : {}),
    contextFor:
      clientOf &&
      ((account) => {
        const log = context.log.child({ controller: account });
        return componentContext({ ...context, client: clientOf(account), log });
      }),
  });
}

/** As whom a controller with this ServiceAccount is known to the API server. */
export function controllerUser(serviceAccount: string): { readonly name: string; readonly groups: readonly string[] } {
  return {
    name: `system:serviceaccount:kube-system:${serviceAccount}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  };
}
