/** Pages of kubelets' servers, read as the API server reads their logs: directly, with its own certificate. */
import type { Client } from '../../client/client.ts';
import { responseText, sendRequest } from '../../serving/upgrade.ts';
import { type KubeletClientOptions, KubeletConnections } from '../node-proxy/kubelet-connections.ts';

export type ReadKubeletPage = (nodeName: string, path: string, signal: AbortSignal) => Promise<string>;

export function kubeletPages(client: Client, options: KubeletClientOptions | undefined): ReadKubeletPage {
  const kubelets = new KubeletConnections(client, options);
  return async (nodeName, path, signal) => {
    const { origin, tls } = await kubelets.of(nodeName, signal);
    const answer = await sendRequest({ url: new URL(origin + path), tls }, { method: 'GET', headers: {}, signal });
    if (answer.upgraded) {
      answer.socket.destroy();
      throw new Error('unexpected upgrade');
    }
    const text = await responseText(answer.response);
    if (answer.response.statusCode !== 200) throw new Error(`${answer.response.statusCode}: ${text}`);
    return text;
  };
}
