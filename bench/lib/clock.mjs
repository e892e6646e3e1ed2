/** Milliseconds of a monotonic clock shared by all processes of this machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6
