/** One API server over its embedded store. */
import {
  awhile,
  clientsAddress,
  clockStepped,
  endedInOrder,
  type Fault,
  Field,
  frozen,
  killed,
  killedTimeAndAgain,
  pause,
  type Rig,
  serverPort,
} from './rig.ts';

const address = '10.99.0.1';

export async function lmdbRig(): Promise<Rig> {
  const field = new Field([address]);
  const disk = field.disk('store', 192);
  const server = field.apiServer('server', address, [`--data-dir=${disk.path}/data`], disk);
  const full: Fault = {
    name: 'disk full',
    async strike(random) {
      disk.fill();
      await pause(random, awhile);
      disk.free();
    },
  };
  const killedOnFullDisk: Fault = {
    name: 'server killed on a full disk',
    async strike(random) {
      disk.fill();
      await pause(random, awhile);
      await server.signal('SIGKILL');
      disk.free();
      await server.start();
    },
  };
  const cut: Fault = {
    name: 'server cut off from clients',
    strike: (random) => field.cut([address], [clientsAddress], () => pause(random, awhile)),
  };
  const all = [server];
  await server.start().catch(async (error) => {
    await field[Symbol.asyncDispose]();
    throw error;
  });
  return {
    servers: [`https://${address}:${serverPort}`],
    tls: field.tls,
    enter: field.enter,
    faults: [
      killed('server killed', all),
      killed('server killed', all),
      killedTimeAndAgain('server killed four times', all),
      frozen('server frozen', all),
      endedInOrder('server ended in order', all),
      clockStepped('clock of the server stepped', all),
      full,
      killedOnFullDisk,
      cut,
    ],
    stop: () => field[Symbol.asyncDispose](),
  };
}
