/** Checks the server and the schema. */

import { localized } from '../../errors/errors.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { oneDecimal, sizeOf } from '../../lib/values/format-number.ts'
import { type Check, failure, ok, warning } from './doctor-check.ts'
import type { LongTransaction, RightsFacts, SchemaFacts, ServerFacts, TableSize } from './doctor-facts.ts'

const oldest = 140_000
const clockMs = 2000
/** An older transaction keeps dead rows long enough to slow down claims. */
export const pinSeconds = 300
export const pinTransactions = 1_000_000
const deadRows = 100_000
const littleBytes = 1e9
const noBytes = 1e8

export function checkVersion({ number, version, standby, readOnly }: ServerFacts): Check {
  if (number < oldest)
    return failure(
      'version',
      localized(`the server is PostgreSQL ${version}`, `o servidor é PostgreSQL ${version}`),
      localized('Retoma needs PostgreSQL 14 or newer', 'o Retoma precisa do PostgreSQL 14 ou mais novo'),
    )
  if (standby || readOnly)
    return failure(
      'version',
      localized(
        `PostgreSQL ${version} only reads here: ${standby ? 'it is a standby' : 'default_transaction_read_only is on'}`,
        `o PostgreSQL ${version} aqui só lê: ${standby ? 'é uma réplica' : 'default_transaction_read_only está ligado'}`,
      ),
      localized('let DATABASE_URL point to the primary', 'aponte DATABASE_URL para o primário'),
    )
  return ok('version', localized(`PostgreSQL ${version}`, `PostgreSQL ${version}`))
}

export function checkClock({ aheadMs }: ServerFacts): Check {
  if (Math.abs(aheadMs) < clockMs)
    return ok(
      'clock',
      localized('the clocks of database and this machine agree', 'os relógios do banco e desta máquina batem'),
    )
  const seconds = Math.abs(aheadMs / 1000)
  const [en, pt] = aheadMs > 0 ? ['ahead of', 'adiantado'] : ['behind', 'atrasado']
  return warning(
    'clock',
    localized(
      `the database's clock is ${oneDecimal(seconds, 'en')} s ${en} this machine's`,
      `o relógio do banco está ${oneDecimal(seconds, 'pt')} s ${pt} em relação a esta máquina`,
    ),
    localized(
      'the database decides, so no work is lost; but an instant named here (runAt) comes at another time there: set both by NTP',
      'quem decide é o banco, então nada se perde; mas um instante dado aqui (runAt) chega em outra hora lá: acerte os dois por NTP',
    ),
  )
}

export function checkSchema({ found, known, systems }: SchemaFacts): Check {
  const behind = systems.find(each => each.found !== each.known)
  if (found === known && behind !== undefined) return checkSystemTables(behind)
  if (found === known) {
    const theirs = systems.map(each => `, ${each.name} ${each.found}`).join('')
    return ok('schema', localized(`schema version ${found}${theirs}`, `esquema na versão ${found}${theirs}`))
  }
  if (found > known)
    return failure(
      'schema',
      localized(
        `the database has schema version ${found}, this Retoma knows ${known}`,
        `o banco tem a versão ${found} do esquema, este Retoma conhece a ${known}`,
      ),
      localized('update Retoma here', 'atualize o Retoma aqui'),
    )
  return failure(
    'schema',
    found === 0
      ? localized('the database has no schema of Retoma yet', 'o banco ainda não tem o esquema do Retoma')
      : localized(
          `the database has schema version ${found}, this Retoma needs ${known}`,
          `o banco tem a versão ${found} do esquema, este Retoma precisa da ${known}`,
        ),
    localized(
      'run: retoma migrate (`retoma up` and workers do it as they start)',
      'rode: retoma migrate (`retoma up` e os workers o fazem ao iniciar)',
    ),
  )
}

function checkSystemTables({ name, found, known }: SchemaFacts['systems'][number]): Check {
  return failure(
    'schema',
    localized(
      `the database has version ${found} of the tables of the system ${name}, its code here ${found > known ? 'knows' : 'needs'} ${known}`,
      `o banco tem a versão ${found} das tabelas do sistema ${name}, o código aqui ${found > known ? 'conhece' : 'precisa d'}a ${known}`,
    ),
    found > known
      ? localized(`update the system ${name} here`, `atualize o sistema ${name} aqui`)
      : localized(
          'run: retoma migrate (`retoma up` and workers do it as they start)',
          'rode: retoma migrate (`retoma up` e os workers o fazem ao iniciar)',
        ),
  )
}

/** `grant`: statement for the owner to grant the missing rights. */
export function checkRights({ user, missing, grant }: RightsFacts): Check {
  if (missing.length === 0)
    return ok(
      'rights',
      localized(`the user ${user} has the rights it needs`, `o usuário ${user} tem as permissões de que precisa`),
    )
  const some = `${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ', …' : ''}`
  return failure(
    'rights',
    localized(`the user ${user} lacks ${some}`, `o usuário ${user} não tem ${some}`),
    localized(`as the owner run: ${grant}`, `como dono rode: ${grant}`),
  )
}

export function checkDurability({ fsync, fullPageWrites, synchronousCommit }: ServerFacts): Check {
  const off = [
    ...(fsync ? [] : ['fsync']),
    ...(fullPageWrites ? [] : ['full_page_writes']),
    ...(synchronousCommit ? [] : ['synchronous_commit']),
  ].join(', ')
  if (off === '')
    return ok('durability', localized('what is committed is on the disk', 'o que foi gravado está no disco'))
  return warning(
    'durability',
    localized(`off: ${off}`, `desligado: ${off}`),
    localized(
      'a power cut can lose jobs that were accepted, and without fsync or full_page_writes the whole database: turn it on',
      'uma queda de energia pode perder jobs aceitos e, sem fsync ou full_page_writes, o banco inteiro: ligue',
    ),
  )
}

/** `free`: free bytes on the disk of an embedded PostgreSQL; the disk of another server is not visible. */
export function checkDisk({ databaseBytes }: ServerFacts, free: number | undefined): Check {
  const [en, pt] = [sizeOf(databaseBytes, 'en'), sizeOf(databaseBytes, 'pt')]
  if (free === undefined) return ok('disk', localized(`the database has ${en}`, `o banco tem ${pt}`))
  const left = localized(
    `the database has ${en}, its disk ${sizeOf(free, 'en')} left`,
    `o banco tem ${pt}, o disco tem ${sizeOf(free, 'pt')} livres`,
  )
  if (free >= littleBytes) return ok('disk', left)
  const advice = localized(
    'free some space, or move the data folder to another disk (RETOMA_DATA_DIR)',
    'libere espaço, ou leve a pasta de dados para outro disco (RETOMA_DATA_DIR)',
  )
  return free < noBytes ? failure('disk', left, advice) : warning('disk', left, advice)
}

export function checkConnections({ connections, maxConnections }: ServerFacts): Check {
  const sentence = localized(
    `${connections} of ${maxConnections} connections are in use`,
    `${connections} de ${maxConnections} conexões em uso`,
  )
  if (connections < maxConnections * 0.8) return ok('connections', sentence)
  return warning(
    'connections',
    sentence,
    localized(
      'a worker process opens up to 22: raise max_connections, or put PgBouncer in front and set DATABASE_DIRECT_URL',
      'um processo de worker abre até 22: aumente max_connections, ou use PgBouncer e defina DATABASE_DIRECT_URL',
    ),
  )
}

export function checkVacuum({ autovacuum }: ServerFacts, tables: readonly TableSize[]): Check {
  const off = tables.filter(each => each.vacuumOff).map(each => `retoma.${each.name}`)
  if (!autovacuum || off.length > 0)
    return warning(
      'vacuum',
      autovacuum
        ? localized(`autovacuum is off for ${off.join(', ')}`, `o autovacuum está desligado para ${off.join(', ')}`)
        : localized('autovacuum or track_counts is off', 'o autovacuum ou o track_counts está desligado'),
      localized(
        'dead rows pile up and claims slow down: turn it on',
        'linhas mortas se acumulam e tudo fica lento: ligue',
      ),
    )
  const piling = tables.filter(each => each.dead > deadRows && each.dead > each.live)
  if (piling.length === 0) return ok('vacuum', localized('dead rows are removed', 'linhas mortas são removidas'))
  const list = piling.map(each => `retoma.${each.name} ${each.dead}`).join(', ')
  return warning(
    'vacuum',
    localized(`more dead rows than live ones: ${list}`, `mais linhas mortas que vivas: ${list}`),
    localized(
      'see who keeps them (pins, above or below); otherwise run: vacuum retoma.job',
      'veja quem as segura (pins, acima ou abaixo); senão rode: vacuum retoma.job',
    ),
  )
}

export function checkPins(pins: readonly LongTransaction[]): Check {
  const [first] = pins
  if (first === undefined)
    return ok(
      'pins',
      localized('nobody keeps dead rows from being removed', 'ninguém impede a remoção de linhas mortas'),
    )
  const more = pins.length > 1 ? ` (+${pins.length - 1})` : ''
  const who = `${first.name || '?'}${first.pid === null ? '' : `, pid ${first.pid}`}`
  const age = first.seconds === null ? `${first.transactions} xids` : spanText(first.seconds, 1)
  const state = first.state === null ? '' : `, ${first.state}`
  return warning(
    'pins',
    localized(
      `${names[first.what].en} keeps dead rows for ${age}: ${who}${state}${more}`,
      `${names[first.what].pt} segura linhas mortas há ${age}: ${who}${state}${more}`,
    ),
    first.what === 'transaction'
      ? localized(
          `let it end, or end it: select pg_terminate_backend(${first.pid})`,
          `espere terminar, ou termine-a: select pg_terminate_backend(${first.pid})`,
        )
      : first.what === 'prepared'
        ? localized('commit prepared or rollback prepared it', 'faça commit prepared ou rollback prepared dela')
        : first.what === 'standby'
          ? localized('end the long query on the standby', 'termine a consulta longa na réplica')
          : localized(
              'drop the slot when nobody needs it: select pg_drop_replication_slot(name)',
              'remova o slot se ninguém precisa dele: select pg_drop_replication_slot(nome)',
            ),
  )
}

const names: Record<LongTransaction['what'], { en: string; pt: string }> = {
  transaction: { en: 'a transaction', pt: 'uma transação' },
  prepared: { en: 'a prepared transaction', pt: 'uma transação preparada' },
  slot: { en: 'a replication slot', pt: 'um slot de replicação' },
  'unused slot': { en: 'a replication slot that nobody uses', pt: 'um slot de replicação que ninguém usa' },
  standby: { en: 'a standby', pt: 'uma réplica' },
}
