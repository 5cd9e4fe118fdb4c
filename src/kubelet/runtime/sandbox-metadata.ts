/** Whose sandbox it is, as the runtime is told and tells. */

export interface SandboxMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** How often a sandbox was made for this Pod before. */
  readonly attempt: number;
}
