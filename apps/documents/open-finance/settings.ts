/** Defines the environment variables of Open Finance, and reads the variables. */
import { RetomaError, readSystemSettings, settingChecks } from 'retoma'

const { text, webUrl, wholeNumber } = settingChecks

export const openFinanceSettings = {
  PLUGGY_CLIENT_ID: {
    meaning: 'Client id of Pluggy, for Open Finance; goes with PLUGGY_CLIENT_SECRET',
    absent: 'simulated',
    secret: true,
    read: text,
  },
  PLUGGY_CLIENT_SECRET: {
    meaning: 'Client secret of Pluggy; goes with PLUGGY_CLIENT_ID',
    absent: 'simulated',
    secret: true,
    read: text,
  },
  PLUGGY_BASE_URL: {
    meaning: 'Where Pluggy is; /auth, /items, /accounts, /v2/transactions and /transactions follow',
    default: 'https://api.pluggy.ai',
    read: webUrl,
  },
  SYNC_CONCURRENCY: {
    meaning: 'Syncs of bank data that a worker runs at the same time',
    default: '10',
    read: wholeNumber(1, 1000),
  },
} as const

export interface OpenFinanceSettings {
  /** undefined: Pluggy is simulated. */
  pluggy: { clientId: string; clientSecret: string; baseUrl: string } | undefined
  concurrency: number
}

/** Throws `bad_setting` with the name of an unusable variable. */
export function readOpenFinanceSettings(
  environment?: Readonly<Record<string, string | undefined>>,
): OpenFinanceSettings {
  const read = readSystemSettings(openFinanceSettings, environment)
  const { PLUGGY_CLIENT_ID: clientId, PLUGGY_CLIENT_SECRET: clientSecret, PLUGGY_BASE_URL: baseUrl } = read
  const concurrency = read.SYNC_CONCURRENCY
  if (clientId !== undefined && clientSecret !== undefined)
    return { pluggy: { clientId, clientSecret, baseUrl }, concurrency }
  if (clientId !== undefined) throw missing('PLUGGY_CLIENT_SECRET', 'PLUGGY_CLIENT_ID')
  if (clientSecret !== undefined) throw missing('PLUGGY_CLIENT_ID', 'PLUGGY_CLIENT_SECRET')
  return { pluggy: undefined, concurrency }
}

const missing = (name: string, other: string) =>
  new RetomaError('bad_setting', {
    name,
    problem: {
      en: `it is missing, and ${other} goes with it; set both or neither`,
      pt: `falta, e ${other} vai junto; defina as duas ou nenhuma`,
    },
  })
