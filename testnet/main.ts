import { enableCompileCache } from 'node:module'

// Imported after this call, so that the compile cache holds the modules. This shortens the start.
enableCompileCache()
await import('./program.ts')
