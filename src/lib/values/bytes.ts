/** Converts megabytes to bytes. Memory sizes have a unit like durations: `megabytes(512)`. */
export const megabytes = (n: number): number => n * 1024 * 1024
