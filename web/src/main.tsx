/** Starts the dashboard. */
import { QueryClientProvider } from '@tanstack/react-query'
import { render } from 'preact'
import { Router } from 'wouter'
import { queryClient } from './api/query.ts'
import { ToastProvider } from './components/toast.tsx'
import { Shell } from './layout/shell.tsx'
import { basePath } from './lib/base-path.ts'
import './lib/svg-classes.ts'
import './lib/theme.ts'
import './styles.css'

render(
  <QueryClientProvider client={queryClient}>
    <Router base={basePath}>
      <ToastProvider>
        <Shell />
      </ToastProvider>
    </Router>
  </QueryClientProvider>,
  document.getElementById('root')!,
)
