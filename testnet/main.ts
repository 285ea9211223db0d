import { enableCompileCache } from 'node:module'

// Imported only now, so that the cache holds them: it saves a good part of the start.
enableCompileCache()
await import('./program.ts')
