import { FORKS } from '../../rollup/protocol/types.ts'
import { type FlagRow, type FlagSpec, flagGroup, flagKey } from '../shared/flags.ts'

/**
 * op-geth's flags that have no effect here, since this client has no peer-to-peer network and no key store. They are
 * accepted so that op-geth's command lines work. The listed values ask for what this client does anyway; they cause no
 * warning.
 */
const VALUE_FLAGS: Record<string, readonly string[]> = {
  'authrpc.rpcprefix': [],
  'blobpool.datacap': [],
  'blobpool.datadir': [],
  'blobpool.pricebump': [],
  'bloomfilter.size': [],
  bootnodes: [''],
  cache: [],
  'cache.blocklogs': [],
  'cache.database': [],
  'cache.gc': [],
  'cache.snapshot': [],
  'cache.trie': [],
  'cache.trie.journal': [],
  'cache.trie.rejournal': [],
  'crypto.kzg': [],
  'datadir.ancient': [],
  'datadir.minfreedisk': [],
  'db.engine': ['leveldb'],
  'discovery.dns': [''],
  'discovery.port': [],
  'eth.requiredblocks': [''],
  ethstats: [],
  fdlimit: [],
  'gpo.blocks': [],
  'gpo.ignoreprice': [],
  'gpo.percentile': [],
  'graphql.corsdomain': [],
  'graphql.vhosts': [],
  'history.blocks': ['0'],
  'history.chain': ['all'],
  'history.logs': ['0'],
  'history.state': ['0'],
  'history.transactions': ['0'],
  'http.rpcprefix': [''],
  identity: [],
  ipcpath: [],
  jspath: [],
  keystore: [],
  'light.egress': [],
  'light.ingress': [],
  'light.maxpeers': [],
  'light.serve': [],
  'log.backtrace': [],
  'log.file': [],
  'log.maxage': [],
  'log.maxbackups': [],
  'log.maxsize': [],
  'log.vmodule': [],
  maxpeers: ['0'],
  maxpendpeers: [],
  'metrics.influxdb.bucket': [],
  'metrics.influxdb.database': [],
  'metrics.influxdb.endpoint': [],
  'metrics.influxdb.organization': [],
  'metrics.influxdb.password': [],
  'metrics.influxdb.tags': [],
  'metrics.influxdb.token': [],
  'metrics.influxdb.username': [],
  'miner.etherbase': [],
  'miner.extradata': [],
  'miner.gaslimit': [],
  'miner.newpayload-timeout': [],
  'miner.pending.feeRecipient': [],
  'miner.recommit': [],
  'miner.threads': [],
  nat: [],
  netrestrict: [],
  nodekey: [],
  nodekeyhex: [],
  password: [],
  pcscdpath: [],
  port: [],
  'pprof.addr': [],
  'pprof.blockprofilerate': [],
  'pprof.cpuprofile': [],
  'pprof.memprofilerate': [],
  'pprof.port': [],
  'rollup.halt': ['', 'none'],
  'rollup.historicalrpc': [],
  'rollup.historicalrpctimeout': [],
  'rpc.batch-response-max-size': [],
  signer: [],
  'state.scheme': ['hash'],
  syncmode: ['full'],
  synctarget: [],
  trace: [],
  'txpool.accountslots': [],
  'txpool.locals': [''],
  txlookuplimit: ['0'],
  unlock: [''],
  vmodule: [],
  vmtrace: [],
  'vmtrace.jsonconfig': [],
  whitelist: [''],
  'ws.rpcprefix': [],
}

const SWITCHES: Record<string, readonly string[]> = {
  'allow-insecure-unlock': ['false'],
  'cache.noprefetch': ['true', 'false'],
  'cache.preimages': ['false'],
  'discovery.v4': ['false'],
  'discovery.v5': ['false'],
  discv4: ['false'],
  discv5: ['false'],
  exitwhensynced: ['false'],
  graphql: ['false'],
  'history.logs.disable': ['true', 'false'],
  ipcdisable: ['true'],
  lightkdf: ['true', 'false'],
  'light.nopruning': ['true', 'false'],
  'light.nosyncserve': ['true', 'false'],
  'log.compress': ['false'],
  'log.debug': ['false'],
  'log.json': ['false'],
  'log.rotate': ['false'],
  'metrics.expensive': ['false'],
  'metrics.influxdb': ['false'],
  'metrics.influxdbv2': ['false'],
  mine: ['false'],
  nocompaction: ['true', 'false'],
  nodiscover: ['true'],
  nousb: ['true', 'false'],
  pprof: ['false'],
  'rollup.computependingblock': ['false'],
  'rollup.disabletxpoolgossip': ['true'],
  'rpc.enabledeprecatedpersonal': ['false'],
  snapshot: ['true', 'false'],
  'txpool.journalremotes': ['false'],

  usb: ['false'],
  v5disc: ['false'],
  vmdebug: ['false'],
}

/** Flags that choose the chain or the validity of its blocks. Ignoring such a flag would split the node from its chain. */
const REFUSED_VALUES: Record<string, string> = Object.fromEntries([
  ...FORKS.map((fork) => [`override.${fork}`, `set ${fork}Time in the genesis file`]),
  ...['cancun', 'prague', 'verkle'].map((fork) => [`override.${fork}`, `set ${fork}Time in the genesis file`]),
  ...['op-network', 'beta.op-network'].map((name) => [name, 'use init with the genesis file of the network']),
])
const REFUSED_SWITCHES: Record<string, string> = Object.fromEntries([
  ...['dev', 'mainnet', 'sepolia', 'holesky', 'hoodi'].map((name) => [
    name,
    'this client runs OP Stack chains only; use init with the genesis file of such a chain',
  ]),
  ...['rollup.superchain-upgrades', 'beta.rollup.superchain-upgrades'].map((name) => [
    name,
    'only the genesis file sets fork times; check that it has all of them, and remove the flag',
  ]),
])

export const gethCompatFlags: Record<string, FlagSpec<string | undefined>> = flagGroup('Compatibility', {
  ...rows(Object.keys({ ...VALUE_FLAGS, ...REFUSED_VALUES }), { parse: String, placeholder: '<value>' }),
  ...rows(Object.keys({ ...SWITCHES, ...REFUSED_SWITCHES }), { parse: (given) => given.toLowerCase() }),
})

export interface CompatReport {
  /** Names, with dashes, of the given flags that change nothing. */
  ignored: string[]
  /** The given flags that cannot be ignored, each with the alternative. */
  refused: string[]
}

/** Sorts the given compatibility flags. */
export function checkCompatFlags(values: Readonly<Record<string, unknown>>): CompatReport {
  const report: CompatReport = { ignored: [], refused: [] }
  for (const name of Object.keys(gethCompatFlags)) {
    const value = values[flagKey(name)]
    if (typeof value !== 'string') continue
    const advice =
      (value === '' ? undefined : REFUSED_VALUES[name]) ?? (value === 'false' ? undefined : REFUSED_SWITCHES[name])
    if (advice !== undefined) report.refused.push(`--${name} is not supported: ${advice}`)
    else if (!(VALUE_FLAGS[name] ?? SWITCHES[name] ?? ['', 'false']).includes(value)) report.ignored.push(`--${name}`)
  }
  return report
}

function rows(
  names: readonly string[],
  kind: Pick<FlagRow<string>, 'parse' | 'placeholder'>,
): Record<string, FlagRow<string | undefined>> {
  const description = 'Accepted for compatibility with op-geth'
  return Object.fromEntries(
    names.map((name) => [name, { description, default: undefined, hidden: true, repeatable: true, ...kind }]),
  )
}
