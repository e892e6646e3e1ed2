/** The seed's words for the states of a document, as the table documents.documents has them. */

export const statuses = ['PENDING', 'PROCESSING', 'DONE', 'FAILED'] as const
export type Status = (typeof statuses)[number]
