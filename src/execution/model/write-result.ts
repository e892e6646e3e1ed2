/** The write result of an attempt: what became of a write that was sent to the database. */

/** The item is in the database; the lease is certainly lost; nothing could be written; PostgreSQL rejects the item in every form. */
export type WriteResult = 'written' | 'lease_lost' | 'unwritten' | 'rejected'
