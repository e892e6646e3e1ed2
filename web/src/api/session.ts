/** The user of this session and the systems of the server. While nobody is logged in, the shell shows the log-in page. */
import { useSyncExternalStore } from 'react'
import { learnServerTime } from '../lib/now.ts'
import { type Answer, call, unauthorized } from './client.ts'
import { queryClient, useApi } from './query.ts'

export type Session = Answer<'GET /api/v1/session'>
export type Role = Session['role']

const order: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 }

let isLoggedOut = false
const listeners = new Set<() => void>()

function setLoggedOut(value: boolean): void {
  if (isLoggedOut === value) return
  isLoggedOut = value
  for (const listener of listeners) listener()
}

unauthorized.notify = () => setLoggedOut(true)

/** True after a 401, until a log-in succeeds. */
export const useLoggedOut = (): boolean =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isLoggedOut,
  )

export const useSession = () => useApi('GET /api/v1/session', {}, { every: 60_000 })

/** True if the role of `session` may do what needs `role`. */
export const mayAs = (session: Session | undefined, role: Role): boolean =>
  session !== undefined && order[session.role] >= order[role]

/** True if the user may do what needs `role`. Actions that the role lacks are not shown. */
export function useCan(role: Role): boolean {
  const { data } = useSession()
  return mayAs(data, role)
}

export async function logIn(token: string): Promise<void> {
  await call('POST /api/v1/login', { body: { token } })
  setLoggedOut(false)
  await queryClient.invalidateQueries()
}

export async function logOut(): Promise<void> {
  await call('POST /api/v1/logout')
  queryClient.clear()
  setLoggedOut(true)
}

queryClient.getQueryCache().subscribe(event => {
  if (event.type !== 'updated' || event.action.type !== 'success') return
  if (event.query.queryKey[0] === 'GET /api/v1/session') learnServerTime((event.action.data as Session).now)
})
