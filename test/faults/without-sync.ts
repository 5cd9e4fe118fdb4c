/** Loaded before a process that writes (`node --import`): makes of it a build whose store forgets to sync. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!/\/lmdb\/database\.[jt]s$/.test(url)) return loaded;
    const source = String(loaded.source);
    const broken = source.replace('overlappingSync: false,', 'overlappingSync: false, noSync: true,');
    if (broken === source) throw new Error('there is no sync to take out');
    return { ...loaded, source: broken };
  },
});
