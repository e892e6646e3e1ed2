import pg from 'pg'
import { expect, test } from 'vitest'
import { isRetomaError } from '../errors/errors.ts'
import { cutsConnection, isTransient, translatePgError } from './pg-errors.ts'

test.each([
  ['25P03', 'idle in transaction for too long'],
  ['25P04', 'a transaction for too long'],
  ['25006', 'a server that only reads'],
  ['57P01', 'an administrator'],
  ['08006', 'a lost connection'],
  ['53300', 'too many connections'],
])(
  'an error %s (%s) of the database is 503, passes, and its connection is not used again where the server ended it',
  code => {
    const error = Object.assign(new pg.DatabaseError('the server said no', 20, 'error'), { code })
    const answer = translatePgError(error, 'postgres://127.0.0.1/a', true)
    expect(isRetomaError(answer, 'database_unreachable') && answer.status).toBe(503)
    expect(isTransient(error)).toBe(true)
    expect(cutsConnection(error)).toBe(code !== '53300')
  },
)
