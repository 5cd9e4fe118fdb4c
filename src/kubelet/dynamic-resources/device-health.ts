/**
 * How claimed devices fare, as their drivers tell. What was not confirmed within its time, 30 s unless the driver says otherwise, is not
 * known. Kept in the file `dra_health_state`, as upstream's kubelet writes and reads it.
 */
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { StateFiles } from '../host/host.ts';
import type { DeviceHealth } from './gen/dra-health-v1alpha1.ts';

export interface KnownHealth {
  readonly health: 'Healthy' | 'Unhealthy' | 'Unknown';
  readonly message: string;
}

export interface ChangedDevice {
  readonly pool: string;
  readonly device: string;
}

interface FileHealth {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly Health: KnownHealth['health'];
  readonly LastUpdated: string;
  readonly HealthCheckTimeout?: number;
  readonly Message?: string;
}

type FileContent = Record<string, { readonly Devices: Record<string, FileHealth> }>;

const file = 'dra_health_state';
const defaultTimeoutMs = 30_000;
const nanosPerMs = 1_000_000;
const longestMessage = 1024;
const states = { HEALTHY: 'Healthy', UNHEALTHY: 'Unhealthy' } as const;

export class HealthOfDevices {
  readonly #options: { readonly clock: Clock; readonly log: Log; readonly state: StateFiles };
  #known: FileContent = {};
  #saving: Promise<void> = Promise.resolve();

  constructor(options: { readonly clock: Clock; readonly log: Log; readonly state: StateFiles }) {
    this.#options = options;
  }

  /** What cannot be read is not known. */
  async restore(): Promise<void> {
    const text = await this.#options.state.read(file);
    if (text === undefined) return;
    try {
      const content: unknown = JSON.parse(text);
      if (!isFileContent(content)) throw new Error('it is not what a kubelet writes');
      this.#known = content;
    } catch (error) {
      const message = 'Failed to load health checkpoint, proceeding with empty cache';
      this.#options.log.error(message, { error: messageOf(error) });
    }
  }

  of(driver: string, pool: string, device: string): KnownHealth {
    const known = this.#known[driver]?.Devices[`${pool}/${device}`];
    if (!known || this.#isOld(known)) return { health: 'Unknown', message: '' };
    return { health: known.Health, message: known.Message ?? '' };
  }

  /** All that the driver watches. Tells what has changed by it. */
  told(driver: string, devices: readonly DeviceHealth[]): readonly ChangedDevice[] {
    const before = this.#known[driver]?.Devices ?? {};
    const now = formatTime(this.#options.clock.now());
    const after: Record<string, FileHealth> = {};
    for (const one of devices) {
      const told = fileHealth(one, now);
      after[`${told.PoolName}/${told.DeviceName}`] = told;
    }
    for (const [key, old] of Object.entries(before)) {
      if (after[key]) continue;
      const isLost = old.Health !== 'Unknown' && this.#isOld(old);
      after[key] = isLost ? { ...old, Health: 'Unknown', Message: '', LastUpdated: now } : old;
    }
    this.#known[driver] = { Devices: after };
    const changed = Object.keys(after).filter((key) => !isSame(after[key], before[key]));
    if (changed.length > 0) this.#save();
    return changed.map((key) => ({ pool: after[key]!.PoolName, device: after[key]!.DeviceName }));
  }

  /** Nothing is known of its devices any more. Tells what was. */
  forget(driver: string): readonly ChangedDevice[] {
    const known = this.#known[driver];
    if (!known) return [];
    delete this.#known[driver];
    this.#save();
    return Object.values(known.Devices).map(({ PoolName: pool, DeviceName: device }) => ({ pool, device }));
  }

  #isOld({ HealthCheckTimeout: timeoutNanos = 0, LastUpdated: at }: FileHealth): boolean {
    const timeoutMs = timeoutNanos === 0 ? defaultTimeoutMs : timeoutNanos / nanosPerMs;
    return this.#options.clock.now() - Date.parse(at) > timeoutMs;
  }

  #save(): void {
    const text = JSON.stringify(this.#known);
    const { log, state } = this.#options;
    this.#saving = this.#saving
      .then(() => state.write(file, text))
      .catch((error) => log.error('the health of devices cannot be kept', { error: messageOf(error) }));
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isFileContent(value: unknown): value is FileContent {
  return isRecord(value) && Object.values(value).every((of) => isRecord(of) && areDevices(of.Devices));
}

function areDevices(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isFileHealth);
}

function isFileHealth(value: unknown): value is FileHealth {
  if (!isRecord(value)) return false;
  // As upstream reads it: these two may be left out.
  const { PoolName, DeviceName, Health, LastUpdated, HealthCheckTimeout = 0, Message = '' } = value;
  if (typeof HealthCheckTimeout !== 'number') return false;
  return [PoolName, DeviceName, Health, LastUpdated, Message].every((text) => typeof text === 'string');
}

function fileHealth(told: DeviceHealth, now: string): FileHealth {
  const { device, health, healthCheckTimeoutSeconds: seconds, message } = told;
  const timeoutMs = seconds > 0n ? Number(seconds) * 1000 : defaultTimeoutMs;
  return {
    PoolName: device?.poolName ?? '',
    DeviceName: device?.deviceName ?? '',
    Health: health === 'HEALTHY' || health === 'UNHEALTHY' ? states[health] : 'Unknown',
    LastUpdated: now,
    HealthCheckTimeout: timeoutMs * nanosPerMs,
    Message: message.length > longestMessage ? `${message.slice(0, longestMessage - 3)}...` : message,
  };
}

function isSame(a: FileHealth | undefined, b: FileHealth | undefined): boolean {
  return a?.Health === b?.Health && a?.Message === b?.Message && a?.HealthCheckTimeout === b?.HealthCheckTimeout;
}
