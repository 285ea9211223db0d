import type { ChainParameters } from '../../chainParameters.ts'
import { GETH_GAS_LIMIT } from './genesis.ts'

export interface GethFiles {
  dataDir: string
  genesis: string
  /** Path of the Engine API's secret. */
  jwt: string
}

export interface GethOptions {
  files: Pick<GethFiles, 'dataDir' | 'jwt'>
  host: string
  ports: { l1: number; l1Engine: number }
  chain: Pick<ChainParameters, 'l1ChainId'>
}

/** Interval at which a payload picks up new transactions. */
const REBUILD_INTERVAL = '200ms'

/** Megabytes. The database reserves the same size on the disk from the start. */
const CACHE_MB = 64

// Each state is written with its block, so a killed geth loses only the newest blocks.
const DATABASE_FLAGS = ['--state.scheme=hash', '--gcmode=archive', `--cache=${CACHE_MB}`]
// Warnings and errors.
const LOG_FLAG = '--verbosity=2'

/** Writes the genesis block, or updates the forks of a kept chain. */
export function gethInitArguments({ dataDir, genesis }: Pick<GethFiles, 'dataDir' | 'genesis'>): string[] {
  return [`--datadir=${dataDir}`, ...DATABASE_FLAGS, LOG_FLAG, 'init', genesis]
}

/** A private L1: it dials nobody, accepts no peers, and builds only the blocks that the Engine API requests. */
export function gethArguments({ files, host, ports, chain }: GethOptions): string[] {
  const api = 'eth,net,web3,debug,txpool'
  return [
    `--datadir=${files.dataDir}`,
    `--networkid=${chain.l1ChainId}`,
    '--syncmode=full',
    ...DATABASE_FLAGS,
    '--nodiscover',
    '--maxpeers=0',
    '--port=0',
    '--ipcdisable',
    '--http',
    `--http.addr=${host}`,
    `--http.port=${ports.l1}`,
    `--http.api=${api}`,
    '--http.corsdomain=*',
    '--http.vhosts=*',
    // HTTP and WebSocket share a port.
    '--ws',
    `--ws.addr=${host}`,
    `--ws.port=${ports.l1}`,
    `--ws.api=${api}`,
    '--ws.origins=*',
    '--authrpc.addr=127.0.0.1',
    `--authrpc.port=${ports.l1Engine}`,
    `--authrpc.jwtsecret=${files.jwt}`,
    `--miner.gaslimit=${GETH_GAS_LIMIT}`,
    `--miner.recommit=${REBUILD_INTERVAL}`,
    LOG_FLAG,
  ]
}
