/** AlwaysAdmit and AlwaysDeny, kept for what they are: deprecated, off, and known by name. */
import type { AdmissionPlugin } from '../admission.ts';
import { refusal } from '../refusal.ts';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit', handles: () => false };

export const alwaysDenyRequests: AdmissionPlugin = {
  name: 'AlwaysDeny',
  handles: () => true,
  admit(attributes) {
    throw refusal(attributes, 'admission control is denying all modifications');
  },
};
