/** Milliseconds of a clock that all processes of this machine share and that only grows. */
export const now = () => Number(process.hrtime.bigint()) / 1e6
