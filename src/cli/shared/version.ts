import manifest from '../../../package.json' with { type: 'json' }

/** Reported by `--version`, the version RPC methods and the info metric. */
export const VERSION: string = `v${manifest.version}`
