/**
 * Defines the environment variables of the systems that are planned: Open Finance. The variables are checked at
 * the start, and services without a key are listed as simulated; no job uses the values yet. Each system takes its variables with it
 * when it becomes a package.
 */
import { RetomaError, readSystemSettings, settingChecks } from 'retoma'

const { text, webUrl } = settingChecks

/** @public for scripts/docs */
export const settings = {
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
  PLUGGY_BASE_URL: { meaning: 'Where Pluggy is', default: 'https://api.pluggy.ai', read: webUrl },
} as const

/** The services without a key. Throws `bad_setting` with the name of an unusable variable. */
export function plannedServices(environment: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const read = readSystemSettings(settings, environment)
  const [missing] = (['PLUGGY_CLIENT_ID', 'PLUGGY_CLIENT_SECRET'] as const).filter(name => read[name] === undefined)
  if (missing !== undefined && (read.PLUGGY_CLIENT_ID ?? read.PLUGGY_CLIENT_SECRET) !== undefined) {
    const other = missing === 'PLUGGY_CLIENT_ID' ? 'PLUGGY_CLIENT_SECRET' : 'PLUGGY_CLIENT_ID'
    const en = `it is missing, and ${other} goes with it; set both or neither`
    const pt = `falta, e ${other} vai junto; defina as duas ou nenhuma`
    throw new RetomaError('bad_setting', { name: missing, problem: { en, pt } })
  }
  return read.PLUGGY_CLIENT_ID === undefined ? ['pluggy'] : []
}
