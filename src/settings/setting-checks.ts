/**
 * Parses and checks the text of a setting. Each check returns the value or refuses with a sentence in both languages; the reader
 * (index.ts) adds the name of the setting.
 *
 * Invariant: a sentence about a URL or a secret never repeats the given text, because the text may contain a password.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { delimiter, join, sep } from 'node:path'
import type { LocalizedText } from '../errors/errors.ts'
import { mostProcesses, parseProcesses } from './process-count.ts'

export class Refusal extends Error {
  readonly saying: LocalizedText

  constructor(saying: LocalizedText) {
    super(saying.en)
    this.saying = saying
  }
}

function refuse(en: string, pt: string): never {
  throw new Refusal({ en, pt })
}

export const text = (given: string): string => given

export const wholeNumber =
  (least: number, most: number) =>
  (given: string): number => {
    const number = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
    if (number >= least && number <= most) return number
    return refuse(
      `it is a whole number from ${least} to ${most}, not ${shown(given)}`,
      `é um número inteiro de ${least} a ${most}, não ${shown(given)}`,
    )
  }

/** The number of worker processes. */
export function processCount(given: string): number {
  const number = parseProcesses(given)
  if (number !== undefined) return number
  return refuse(
    `it is auto or a whole number from 1 to ${mostProcesses}, not ${shown(given)}`,
    `é auto ou um número inteiro de 1 a ${mostProcesses}, não ${shown(given)}`,
  )
}

export const oneOf =
  <const Allowed extends readonly string[]>(...allowed: Allowed) =>
  (given: string): Allowed[number] => {
    if (allowed.includes(given)) return given
    const list = allowed.join(', ')
    return allowed.length === 1
      ? refuse(`it is ${list} or not set, not ${shown(given)}`, `é ${list} ou nada, não ${shown(given)}`)
      : refuse(`it is one of ${list}, not ${shown(given)}`, `é um destes: ${list}; não ${shown(given)}`)
  }

export function host(given: string): string {
  if (isIP(given) !== 0 || /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(given)) return given
  return refuse(
    `it is a name or an address without scheme or port, such as 127.0.0.1, not ${shown(given)}`,
    `é um nome ou endereço sem esquema nem porta, como 127.0.0.1, não ${shown(given)}`,
  )
}

/** A name that needs no escapes, and that neither PostgreSQL nor the user's tables have by default. */
export const isSchemaName = (name: unknown): name is string =>
  typeof name === 'string' &&
  /^[a-z_][a-z0-9_]{0,49}$/.test(name) &&
  !name.startsWith('pg_') &&
  name !== 'public' &&
  name !== 'information_schema'

export const schemaRule: LocalizedText = {
  en: "it is a name of at most 50 lower-case letters, digits and _, and none of PostgreSQL's own, such as public",
  pt: 'é um nome de até 50 letras minúsculas, dígitos e _, e nenhum dos do PostgreSQL, como public',
}

export function schemaName(given: string): string {
  if (isSchemaName(given)) return given
  return refuse(`${schemaRule.en}, not ${shown(given)}`, `${schemaRule.pt}, não ${shown(given)}`)
}

export function postgresUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    return refuse(
      'it must look like postgres://user:password@host:5432/database; special characters in the password are percent-encoded',
      'deve ter a forma postgres://usuario:senha@host:5432/banco; caracteres especiais na senha vão em percent-encoding',
    )
  }
  // The driver would silently choose defaults. A database without a host is on this machine, as usual in PostgreSQL.
  if (url.hostname === '' && url.pathname.length < 2 && !url.searchParams.get('host'))
    refuse(
      'it names neither a host nor a database: postgres://user:password@host:5432/database',
      'não tem host nem banco: postgres://usuario:senha@host:5432/banco',
    )
  try {
    decodeURIComponent(url.username + url.password + url.pathname)
  } catch {
    refuse(
      'user, password or database holds a % that begins no escape; write it as %25',
      'usuário, senha ou banco tem um % que não inicia um escape; escreva-o como %25',
    )
  }
  return given
}

/** An http or https address, without a trailing slash, so that a path can follow. */
export function webUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return given.replace(/(?<!\/)\/+$/, '')
  return refuse(
    'it must begin with http:// or https:// and name a host',
    'deve começar com http:// ou https:// e ter um host',
  )
}

/** A secret chosen by a person. */
export function chosenSecret(given: string): string {
  if (given.length < 16) {
    refuse(
      'it has fewer than 16 characters; make one with: openssl rand -hex 32',
      'tem menos de 16 caracteres; gere um com: openssl rand -hex 32',
    )
  }
  return given
}

export function adminToken(given: string): string {
  chosenSecret(given)
  if (!/^[\x21-\x7e]+$/.test(given)) {
    refuse(
      'it holds spaces or letters outside ASCII, which a request header cannot carry',
      'tem espaços ou letras fora do ASCII, que um cabeçalho HTTP não carrega',
    )
  }
  return given
}

/** The number of proxies in front; each proxy's X-Forwarded-* headers are trusted. */
export function proxies(given: string): number {
  if (given === 'true') return 1
  if (given === 'false') return 0
  if (/^\d$/.test(given)) return Number(given)
  return refuse(
    `it is how many proxies stand in front, 0 to 9 (true is 1), not ${shown(given)}`,
    `é quantos proxies há na frente, 0 a 9 (true é 1), não ${shown(given)}`,
  )
}

/** `localhost:8080, [::1]:9000` */
export function hostsAndPorts(given: string): readonly string[] {
  const hosts = given.split(/[\s,]+/).filter(part => part !== '')
  for (const part of hosts) {
    const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+)):(\d{1,5})$/i.exec(part)
    const port = Number(match?.[3])
    if (match && (match[1] === undefined || isIP(match[1]) === 6) && port >= 1 && port <= 65_535) continue
    refuse(
      `it is a list of host:port, such as localhost:8080, 10.0.0.7:80; ${shown(part)} is none`,
      `é uma lista de host:porta, como localhost:8080, 10.0.0.7:80; ${shown(part)} não é`,
    )
  }
  return hosts.map(part => part.toLowerCase())
}

/** A program of this machine: a path, or a name that is found in the folders of PATH. */
export function program(given: string): string {
  const isPath = given.includes('/') || given.includes(sep)
  const folders = isPath ? [''] : (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  if (folders.some(folder => isProgram(folder === '' ? given : join(folder, given)))) return given
  return refuse(
    `it is the path of a program that this process can run; ${shown(given)} is none`,
    `é o caminho de um programa que este processo pode executar; ${shown(given)} não é`,
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

const shown = (given: string) => JSON.stringify(given.length > 40 ? `${given.slice(0, 40)}…` : given)
