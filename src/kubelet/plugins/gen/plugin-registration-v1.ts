/** How plugins of a node present themselves, v1. Derived from facts/node-plugins/plugin-registration-v1.json by scripts/generate-grpc.ts: change the facts, not this file. */
import { type GrpcService, WireTable } from '../../grpc/codec.ts';

export interface PluginInfo {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface RegistrationStatus {
  readonly pluginRegistered: boolean;
  readonly error: string;
}

export type RegistrationStatusResponse = Readonly<Record<never, never>>;

export type InfoRequest = Readonly<Record<never, never>>;

/** Message type by name, for the codec. */
export interface Messages {
  PluginInfo: PluginInfo;
  RegistrationStatus: RegistrationStatus;
  RegistrationStatusResponse: RegistrationStatusResponse;
  InfoRequest: InfoRequest;
}

export const wire = new WireTable<Messages>({
  messages: {
    PluginInfo: [
      [1,"type","string","",0],
      [2,"name","string","",0],
      [3,"endpoint","string","",0],
      [4,"supportedVersions","string","",1],
    ],
    RegistrationStatus: [
      [1,"pluginRegistered","bool","",0],
      [2,"error","string","",0],
    ],
    RegistrationStatusResponse: [],
    InfoRequest: [],
  },
  enums: {
  },
});

export interface RegistrationMethods {
  GetInfo: { request: InfoRequest; response: PluginInfo };
  NotifyRegistrationStatus: { request: RegistrationStatus; response: RegistrationStatusResponse };
}

export const registrationService: GrpcService<RegistrationMethods> = {
  name: 'pluginregistration.Registration',
  wire,
  methods: {
    GetInfo: { request: 'InfoRequest', response: 'PluginInfo' },
    NotifyRegistrationStatus: { request: 'RegistrationStatus', response: 'RegistrationStatusResponse' },
  },
};
