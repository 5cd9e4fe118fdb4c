/** The objects that exist from the start, as derived from the facts. Read when the server starts, and not kept. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from '../../api/gen/rbac-v1.ts';
import type { PriorityClass } from '../../api/gen/scheduling-v1.ts';

export interface RbacObjects {
  readonly clusterRoles: readonly ClusterRole[];
  /** What exists only with all of its gates on, which are off unless somebody says otherwise. */
  readonly gated: readonly {
    readonly gates: readonly string[];
    readonly clusterRole: ClusterRole;
    readonly clusterRoleBinding: ClusterRoleBinding;
  }[];
  /** What roles that always exist may do besides while a gate is on. */
  readonly gatedRules: readonly {
    readonly gate: string;
    readonly clusterRole: string;
    readonly rules: readonly PolicyRule[];
  }[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

export interface FlowControlObjects {
  readonly priorityLevels: readonly PriorityLevelConfiguration[];
  readonly flowSchemas: readonly FlowSchema[];
}

export interface SystemObjects {
  readonly namespaces: readonly string[];
  readonly priorityClasses: readonly PriorityClass[];
}

export const rbacObjects = () => read('rbac') as RbacObjects;
export const flowControlObjects = () => read('flow-control') as FlowControlObjects;
export const systemObjects = () => read('bootstrap') as SystemObjects;

function read(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, `../gen/${name}.json`), 'utf8'));
}
