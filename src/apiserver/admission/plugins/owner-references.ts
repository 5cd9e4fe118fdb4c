/**
 * OwnerReferencesPermissionEnforcement (off by default): who changes an object's owners needs the right to delete the object, and who
 * makes it block the deletion of its owner needs the right to set finalizers on that owner.
 */

import { semanticallyEqual } from '../../../api/equality.ts';
import { builtinResources } from '../../../api/schema.ts';
import type { OwnerReference } from '../../../apimachinery/meta.ts';
import { parseApiVersion } from '../../../apimachinery/resource.ts';
import { resourceAccess } from '../../authorization/access.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export function ownerReferencesPermissionEnforcement({ authorizer }: PluginContext): AdmissionPlugin {
  const ask = async (attributes: AdmissionAttributes, access: Parameters<typeof resourceAccess>[1]) =>
    authorizer.authorize(resourceAccess(attributes.user, access));
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      !(isResource(resource, '', 'pods') && subresource === 'status'),
    async validate(attributes) {
      const { object, oldObject, operation, resource, namespace, name, subresource } = attributes;
      const owners = object?.metadata?.ownerReferences ?? [];
      const oldOwners = oldObject?.metadata?.ownerReferences ?? [];
      if (semanticallyEqual(owners, oldOwners)) return;
      if (operation !== 'CREATE') {
        const access = { verb: 'delete', ...resource, subresource, namespace, name };
        const { decision, reason } = await ask(attributes, access);
        if (decision !== 'allow') {
          throw refusal(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
        }
      }
      const blocking = owners.filter((owner) => owner.blockOwnerDeletion && !wasBlocking(oldOwners, owner));
      if (blocking.length === 0) return;
      const anything = {
        verb: 'update',
        group: '*',
        version: '*',
        resource: '*',
        subresource: 'finalizers',
        name: '*',
      };
      if ((await ask(attributes, anything)).decision === 'allow') return;
      for (const owner of blocking) await checkOwner(attributes, owner);
    },
  };

  async function checkOwner(attributes: AdmissionAttributes, owner: OwnerReference): Promise<void> {
    const { group, version } = parseApiVersion(owner.apiVersion);
    const rows = builtinResources().filter(
      (row) => row.group === group && row.version === version && row.kind === owner.kind,
    );
    if (rows.length === 0) {
      const missing = `no matches for kind "${owner.kind}" in version "${owner.apiVersion}"`;
      const where = `APIVersion ${owner.apiVersion} Kind ${owner.kind}`;
      throw refusal(
        attributes,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for ${where}: ${missing}`,
      );
    }
    for (const row of rows) {
      const namespace = row.namespaced ? attributes.namespace : '';
      const access = {
        verb: 'update',
        group,
        version,
        resource: row.resource,
        subresource: 'finalizers',
        namespace,
        name: owner.name,
      };
      const { decision, reason } = await ask(attributes, access);
      if (decision === 'allow') continue;
      const message =
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
      throw refusal(attributes, `${message}: ${reason}, <nil>`);
    }
  }
}

function wasBlocking(oldOwners: readonly OwnerReference[], owner: OwnerReference): boolean {
  return oldOwners.some((old) => old.uid === owner.uid && old.blockOwnerDeletion === true);
}
