/**
 * The route table of the dashboard. To add a page: write pages/NAME/NAME-page.tsx with a default export, add its first segment to
 * page-paths.ts, and one line here. Each page is a chunk of its own, loaded when it is opened.
 */
import {
  CalendarClock,
  CircleAlert,
  Cpu,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  Plug,
  Rows3,
  Settings,
  ShieldCheck,
} from 'lucide-react'
import type { ComponentType } from 'preact'
import { lazy } from 'react'
import type { Role } from './api/session.ts'
import type { ShellText } from './layout/messages.ts'
import type { PagePath } from './page-paths.ts'

export interface PageRoute {
  /** Patterns of wouter: `/batches/:id`. */
  path: string
  Page: ComponentType
}

export interface NavEntry {
  path: string
  label: ShellText
  icon: LucideIcon
  /** The smallest role that sees the entry. Default: viewer. */
  role?: Role
}

type Load = () => Promise<{ default: ComponentType }>
const page = (load: Load): ComponentType => lazy(load) as unknown as ComponentType

const Overview = page(() => import('./pages/overview/overview-page.tsx'))
const Batches = page(() => import('./pages/batches/batches-page.tsx'))
const Batch = page(() => import('./pages/batches/batch-page.tsx'))
const Jobs = page(() => import('./pages/jobs/jobs-page.tsx'))
const Job = page(() => import('./pages/jobs/job-page.tsx'))
const Queues = page(() => import('./pages/queues/queues-page.tsx'))
const Queue = page(() => import('./pages/queues/queue-page.tsx'))
const Workers = page(() => import('./pages/workers/workers-page.tsx'))
const Schedules = page(() => import('./pages/schedules/schedules-page.tsx'))
const Schedule = page(() => import('./pages/schedules/schedule-page.tsx'))
const Guards = page(() => import('./pages/guards/guards-page.tsx'))
const Providers = page(() => import('./pages/providers/providers-page.tsx'))
const Incidents = page(() => import('./pages/incidents/incidents-page.tsx'))
const Tokens = page(() => import('./pages/tokens/tokens-page.tsx'))
const SettingsPage = page(() => import('./pages/settings/settings-page.tsx'))

/** The pages below each first segment. The log-in page is part of the shell. */
const pagesBelow: Readonly<Record<Exclude<PagePath, 'login'>, readonly PageRoute[]>> = {
  batches: [
    { path: '/batches', Page: Batches },
    { path: '/batches/:id', Page: Batch },
  ],
  jobs: [
    { path: '/jobs', Page: Jobs },
    { path: '/jobs/:id', Page: Job },
  ],
  queues: [
    { path: '/queues', Page: Queues },
    { path: '/queues/:name', Page: Queue },
  ],
  workers: [
    { path: '/workers', Page: Workers },
    { path: '/workers/:id', Page: Workers },
  ],
  schedules: [
    { path: '/schedules', Page: Schedules },
    { path: '/schedules/:name', Page: Schedule },
  ],
  guards: [
    { path: '/guards', Page: Guards },
    { path: '/guards/:name', Page: Guards },
  ],
  providers: [
    { path: '/providers', Page: Providers },
    { path: '/providers/:name', Page: Providers },
  ],
  incidents: [{ path: '/incidents', Page: Incidents }],
  tokens: [{ path: '/tokens', Page: Tokens }],
  settings: [{ path: '/settings', Page: SettingsPage }],
}

export const pages: readonly PageRoute[] = [{ path: '/', Page: Overview }, ...Object.values(pagesBelow).flat()]

export const navigation: readonly {
  title: ShellText | undefined
  entries: readonly NavEntry[]
}[] = [
  {
    title: undefined,
    entries: [
      { path: '/', label: 'overview', icon: LayoutDashboard },
      { path: '/batches', label: 'batches', icon: Layers },
      { path: '/jobs', label: 'jobs', icon: ListChecks },
    ],
  },
  {
    title: 'groupOperation',
    entries: [
      { path: '/queues', label: 'queues', icon: Rows3 },
      { path: '/workers', label: 'workers', icon: Cpu },
      { path: '/schedules', label: 'schedules', icon: CalendarClock },
      { path: '/guards', label: 'guards', icon: ShieldCheck },
      { path: '/providers', label: 'providers', icon: Plug },
      { path: '/incidents', label: 'incidents', icon: CircleAlert },
    ],
  },
  {
    title: 'groupAdmin',
    entries: [
      { path: '/tokens', label: 'tokens', icon: KeyRound, role: 'admin' },
      { path: '/settings', label: 'settings', icon: Settings },
    ],
  },
]
