/** AlwaysAdmit and AlwaysDeny, kept for what they are: deprecated, off, and known by name. */
import type { CreatePlugin } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export const alwaysAdmit: CreatePlugin = () => ({ name: 'AlwaysAdmit', handles: () => false });

export const alwaysDenyRequests: CreatePlugin = () => ({
  name: 'AlwaysDeny',
  handles: () => true,
  admit(attributes) {
    throw refusal(attributes, 'admission control is denying all modifications');
  },
});
