/**
 * Loaded before a server's own code (`node --import`): on SIGUSR2 its wall clock jumps, an hour ahead, then back, and so on (never to before
 * the certificates of its clients begin to count, for that would end everybody's access and rightly so). The machine's own clock belongs to all that runs on it and stays as it is; the monotonic clock never jumps, here as in a kernel.
 */
const stepMs = 3_600_000;
const machineNow = Date.now;
let offsetMs = 0;

Date.now = () => machineNow() + offsetMs;
process.on('SIGUSR2', () => {
  offsetMs = offsetMs === 0 ? stepMs : 0;
});
