/**
 * Defines the limits per user: ten requests in any minute, exactly. Uploads and reprocesses share a window; syncs have a window of their
 * own. Lists and downloads have no limit.
 */
import { minutes } from 'retoma'
import type { RouteLimit } from 'retoma/http'

/** Uploads and reprocesses. */
export const documentLimit: RouteLimit = { bucket: 'documents', limit: 10, per: minutes(1) }

/** Syncs of bank data. @public for the routes of Open Finance */
export const syncLimit: RouteLimit = { bucket: 'sync', limit: 10, per: minutes(1) }
