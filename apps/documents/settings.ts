/** Defines the environment variables of the documents, and reads them. */
import { readSystemSettings, settingChecks } from 'retoma'
import { openFinanceSettings } from './open-finance/settings.ts'

const { wholeNumber } = settingChecks

const documentSettings = {
  DOCUMENTS_CONCURRENCY: {
    meaning: 'PDFs processed at the same time, over all workers',
    default: '16',
    read: wholeNumber(1, 1000),
  },
} as const

/** @public for scripts/docs */
export const settings = { ...documentSettings, ...openFinanceSettings }

export interface DocumentsSettings {
  /** PDFs at the same time, over all workers. */
  concurrency: number
}

/** Throws `bad_setting` with the name of an unusable variable. */
export function readDocumentsSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): DocumentsSettings {
  return { concurrency: readSystemSettings(documentSettings, environment).DOCUMENTS_CONCURRENCY }
}
