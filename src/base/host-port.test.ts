import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hostPort } from './host-port.ts';

it('puts an IPv6 address in brackets, and nothing else', () => {
  const texts = ['10.0.0.1', 'example.com', '::1', 'fd00::a'].map((host) => hostPort({ host, port: 80 }));
  assert.deepEqual(texts, ['10.0.0.1:80', 'example.com:80', '[::1]:80', '[fd00::a]:80']);
});
