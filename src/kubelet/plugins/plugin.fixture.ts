/** A plugin of a node, as its test wants it: it shows itself on a socket and keeps what it is told. */
import { type GrpcServer, grpcServer } from '../../base/grpc/index.ts';
import { handleTable } from '../grpc/table-handlers.ts';
import { type PluginInfo, type RegistrationStatus, registrationService } from './gen/plugin-registration-v1.ts';

export interface PresentedPlugin {
  /** What it is told next: a verdict that was not yet taken, or the one to come. */
  verdict(): Promise<RegistrationStatus>;
  close(): void;
}

/** `serve` adds the plugin's own services to the same socket. */
export async function presentPlugin(
  path: string,
  info: Pick<PluginInfo, 'type' | 'name'> & Partial<PluginInfo>,
  serve: (server: GrpcServer) => void = () => {},
): Promise<PresentedPlugin> {
  const told: RegistrationStatus[] = [];
  const waiting: ((status: RegistrationStatus) => void)[] = [];
  const server = await grpcServer();
  handleTable(server, registrationService, {
    GetInfo: async () => ({ supportedVersions: ['1.0.0'], ...info }),
    NotifyRegistrationStatus: async (status) => {
      const next = waiting.shift();
      if (next) next(status);
      else told.push(status);
      return {};
    },
  });
  serve(server);
  await server.listen(`unix://${path}`);
  return {
    verdict: () => {
      const first = told.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => waiting.push(resolve));
    },
    close: () => server.close(),
  };
}
