/** What this program is, and which Kubernetes it speaks. */
import packageFile from '../../package.json' with { type: 'json' };
import { serverVersion } from '../apiserver/version.ts';

export const versions = { coracle: packageFile.version, kubernetes: serverVersion.gitVersion } as const;
