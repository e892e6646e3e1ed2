/** The seed's words for the states of a job. The view snaps.snap_processing_job has the same words, and a test compares both. */
export const statuses = ['PENDING', 'PROCESSING', 'DONE', 'FAILED'] as const
export type Status = (typeof statuses)[number]
