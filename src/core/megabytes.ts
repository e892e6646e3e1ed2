/** Memory carries its unit as durations do: `megabytes(512)`. In bytes. */
export const megabytes = (n: number): number => n * 1024 * 1024
