/**
 * Loaded before a server's own code (`node --import`): on SIGUSR2 its wall clock jumps, an hour ahead, then two hours back, and so on. The
 * machine's own clock belongs to all that runs on it and stays as it is; the monotonic clock never jumps, here as in a kernel.
 */
const stepsMs = [3_600_000, -7_200_000, 3_600_000];
const machineNow = Date.now;
let offsetMs = 0;
let steps = 0;

Date.now = () => machineNow() + offsetMs;
process.on('SIGUSR2', () => {
  offsetMs += stepsMs[steps++ % stepsMs.length]!;
});
