import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import { defineConfig, type Plugin } from 'vite'
import { pagePaths } from './src/page-paths.ts'

/** Writes the first segments of the pages for the server, which answers them with index.html. */
const pageList: Plugin = {
  name: 'page-list',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'pages.json', source: JSON.stringify(pagePaths) })
  },
}

const compat = (path: string) => fileURLToPath(new URL(`../node_modules/preact/${path}`, import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative: the dashboard is served below any base path, which <base href> names.
  base: './',
  plugins: [tailwindcss(), pageList],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: [
      { find: /^react\/jsx-runtime$/, replacement: compat('jsx-runtime') },
      { find: /^react(-dom)?$/, replacement: compat('compat') },
      // Preact has the hook of React 18, for which wouter brings a substitute.
      { find: /^use-sync-external-store\/shim.*$/, replacement: compat('compat') },
    ],
  },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
  // `npx vite` in this folder: the pages with hot reload over a Retoma that `npm start` runs.
  server: { proxy: { '^/(api|projetos|execucoes|health|ready|metrics)': 'http://127.0.0.1:3000' } },
})
