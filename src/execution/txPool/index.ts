export { POOL_ERROR_TEXTS, type PoolErrorCode, TxPoolError } from './errors.ts'
export { DEFAULT_TX_POOL_OPTIONS, type TxPoolOptions } from './options.ts'
export { PoolJournal } from './poolJournal.ts'
export { type PoolChain, type SenderContent, TxPool } from './txPool.ts'
