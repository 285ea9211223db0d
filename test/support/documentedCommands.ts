import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { fromHex, toQuantity } from '../../src/lib/hex.ts'
import { until, WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import type { Endpoints } from '../../testnet/runner/events.ts'
import { serveGuarded } from './guardedNode.ts'
import { claimPort } from './programs.ts'
import { commandExists } from './prometheus.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Documents with commands, in groups that can run in parallel: no two groups block the same peer or stop the sequencer. */
export const COMMAND_DOCUMENTS = [
  ['README.md', 'docs/operating/commands.md', 'docs/peer-scores.md', 'docs/interfaces.md'],
  [
    ...['docs/operating.md', 'docs/operating/services.md', 'docs/operating/health.md', 'docs/operating/maintenance.md'],
    ...['docs/operating/sequencer.md', 'docs/operating/forks.md', 'docs/troubleshooting.md', 'docs/deploy/README.md'],
  ],
] as const

/** The start of a command line: in a marked code block, after a prompt, or in the text. */
const COMMAND = /^(npm|npx|node|devium[\w-]*|curl|cast|head|gzip|docker|kubectl|export|source) \S/

/** Commands that no test can run as written, each with the other check of its truth. */
export const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [
    /^npm (ci|start|test|run test:\w+)\b/,
    'installs the checkout that runs this, or runs this; what `npm start` starts is the testnet of this test',
  ],
  [/^npm pack$/, 'test/system/package.test.ts packs, unpacks and runs the package'],
  [
    /^npx devium-testnet$/,
    'needs an install from a registry, which test/system/package.test.ts makes where DEVIUM_INSTALLED_PACKAGE=1 asks for it',
  ],
  [
    /^npx devium testnet (?!--help)/,
    'hurts the testnet that other commands ask: test/system/testnetCommands.test.ts has one of its own',
  ],
  [/^docker /, 'needs a Docker daemon, and an image to be built: test/deploy.test.ts checks the files'],
  [/^kubectl /, 'needs a cluster: test/deploy.test.ts checks the manifests'],
  [/^devium doctor$/, 'is what the command is called, and wants the flags of a node: the example with flags is run'],
  [/--network=op-sepolia /, 'needs an L1 and an execution client of a public network; its flags are parsed'],
  [/^op-reth /, 'is no program of ours, and syncs a public network'],
  [/^sudo /, "changes the machine's services and files"],
  [/^geth /, 'is no program of ours, and syncs a public network; test/interop/opGeth.test.ts runs it on a testnet'],
  [/^cast /, "needs Foundry's cast: src/cli/operator/decode/decodeCommand.test.ts reads such blocks"],
]

/** Values for the placeholders of examples. The variables belong to the command runner. */
const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/(?<=^|\| )npx /g, ''],
  [/^devium decode$/, '$& calldata.bin'],
  [/http:\/\/127\.0\.0\.1:95(10|45)/g, '$NODE'],
  // An RPC that others reach requires a token for changes.
  [/http:\/\/10\.0\.0\.\d:9545/g, '$GUARDED_NODE'],
  [
    /--l1=http:\/\/10\.0\.0\.5:8545/,
    '--l1=$L1 --rollup.l1-chain-config=l1.json --rpc.port=$RPC_PORT --p2p.no-discovery --p2p.listen.tcp=0',
  ],
  [/--l1\.beacon=http:\/\/10\.0\.0\.5:5052/, '--l1.beacon=$L1'],
  // The testnet already has a submitter, which another one must not disturb.
  [
    /--l1-eth-rpc=http:\/\/10\.0\.0\.5:8545 --l2-eth-rpc=http:\/\/127\.0\.0\.1:8545/,
    '--l1-eth-rpc=$L1 --l2-eth-rpc=$L2 --stopped',
  ],
  [/--rpc\.port=8548/, '--rpc.port=$SUBMITTER_PORT'],
  [/--l2=http:\/\/127\.0\.0\.1:8551/, '--l2=http://127.0.0.1:$ENGINE_PORT'],
  [/^devium-geth --datadir=geth --http /, '$&--http.port=$ETH_PORT --authrpc.port=$ENGINE_PORT '],
  [/^devium-geth dumpgenesis/, 'devium-geth init --datadir=stopped genesis.json && $& --datadir=stopped'],
  [/\/ip4\/203\.0\.113\.7\/tcp\/9222\/p2p\/\w+…?|<multiaddr>/, '$ADDRESS'],
  [/16Uiu2HAm5Qs3\w+|6Hyr2Er8|<peer>/, '$PEER'],
  [/--rpc <address>/, '--rpc $BATCHER'],
  [/--dir devnet/, '--dir $TESTNET'],
  [
    /decode 0x5f1c… --l1 https:\/\/… --l1\.beacon https:\/\/… --network op-mainnet/,
    'decode $BATCH --l1 $L1 --l1.beacon $L1 --rollup.config rollup.json',
  ],
  [/^devium watch/, "script -qec '$&' /dev/null <<< q"],
  [/^source <\(devium completion bash\)/, '$& && complete -p devium'],
  [
    /^source <\(devium completion zsh\)/,
    "zsh -c 'autoload -U compinit && compinit -u && $& && (( $+_comps[devium] ))'",
  ],
  [/^devium completion fish \| source/, "fish -c '$& && complete -c devium | grep -q __devium_complete'"],
]

/** Commands with an exit code other than 0, as documented. */
const EXIT_CODES: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^head -c 60 calldata\.bin/, [2]],
  // Concurrent commands stop and start the sequencer.
  [/^(npx )?devium status/, [0, 3]],
]

const PORTS = ['ETH_PORT', 'RPC_PORT', 'SUBMITTER_PORT', 'ENGINE_PORT'] as const

/** Programs that run until they are interrupted, with the call that shows that they run. */
const PROGRAMS: readonly (readonly [RegExp, { port: (typeof PORTS)[number]; method: string }])[] = [
  [/^devium-geth --datadir=geth --http/, { port: 'ETH_PORT', method: 'eth_chainId' }],
  [/^devium--batcher --rollup\.config/, { port: 'RPC_PORT', method: 'devium_version' }],
  [/^devium-batch-submitter /, { port: 'SUBMITTER_PORT', method: 'admin_batcherStatus' }],
]

/** Commands of a document, in order: in `sh` blocks, after prompts in `console` blocks, and in the text. */
export function documentedCommands(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  const commands: string[] = []
  for (const [, language = '', block = '', span = ''] of text.matchAll(/^```(\w*)\n(.*?)^```|`([^`]+)`/gms)) {
    const lines = span === '' ? block.trimEnd().split('\n') : [span.replaceAll('\n', ' ')]
    for (const line of lines) {
      if (language === 'sh') commands.push(line.replace(/\s{2,}#.*$/, ''))
      else if (line.startsWith('$ ') && language === 'console') commands.push(line.slice(2))
      // Commands with FILE or … are not run; only their words are checked.
      else if (span !== '' && COMMAND.test(line) && !/…|\b[A-Z]{4,}\b/.test(line)) commands.push(line)
      else if (span === '' && COMMAND.test(line.replace(/^\$ /, ''))) {
        throw new Error(`${document}: "${line}" is in a block that is not marked sh or console`)
      }
    }
  }
  return commands
}

/** The reason not to run a command; undefined if it runs. */
export function reasonNotToRun(command: string): string | undefined {
  return NOT_RUN.find(([pattern]) => pattern.test(command))?.[1]
}

export interface CommandRunner {
  /** Resolves to the error; undefined on success, or if the command has run before. */
  run(command: string, peer: { peerId: string; p2p: string }): Promise<string | undefined>
  stop(): Promise<void>
}

/** Runs documented commands in an empty folder against a testnet, with values for the placeholders. */
export async function createCommandRunner(net: Endpoints, folder: string): Promise<CommandRunner> {
  const [sequencer] = net.nodes
  if (sequencer === undefined) throw new RangeError('a testnet has a sequencer')
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['devium', 'devium--batcher', 'devium-geth', 'devium-batch-submitter']) {
    symlinkSync(join(ROOT, 'bin', `${name}.mjs`), join(bin, name))
  }
  for (const name of ['genesis.json', 'rollup.json', 'l1.json']) cpSync(join(net.joinDir, name), join(folder, name))
  writeFileSync(join(folder, 'jwt.txt'), '11'.repeat(32))
  const token = '22'.repeat(32)
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 })
  const guarded = await serveGuarded(sequencer.rollupRpc, token)
  const inbox: string = JSON.parse(readFileSync(join(folder, 'rollup.json'), 'utf8')).batch_inbox_address
  const [batch, earlier] = await lastBatches(net, inbox)
  writeFileSync(join(folder, 'calldata.bin'), batch.input)
  // The data after the version byte.
  writeFileSync(join(folder, 'frame0.bin'), earlier.input.subarray(1))
  writeFileSync(join(folder, 'frame1.bin'), batch.input.subarray(1))
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    DEVIUM_DATA_DIR: join(folder, 'data'),
    DEVIUM_RPC: sequencer.rollupRpc,
    DEVIUM_BATCHER_RPC: net.batcher.adminRpc,
    NODE: sequencer.rollupRpc,
    GUARDED_NODE: guarded.url,
    BATCHER: net.batcher.adminRpc,
    TESTNET: net.dir,
    L1: net.l1.rpc,
    L2: sequencer.ethRpc,
    // An account without a role in this testnet.
    DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: `0x${'33'.repeat(32)}`,
    BATCH: batch.hash,
  }
  for (const name of PORTS) env[name] = String(await claimPort())
  const ran = new Set<string>()
  const programs: { child: ChildProcess; exited: Promise<string | undefined> }[] = []

  const start = (command: string, text: string, variables: NodeJS.ProcessEnv): (typeof programs)[number] => {
    const child = spawn('bash', ['-c', text], {
      ...{ cwd: folder, env: { ...env, ...variables }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    })
    let output = ''
    child.stdout?.on('data', (chunk) => (output += chunk))
    child.stderr?.on('data', (chunk) => (output += chunk))
    const [, expected = [0]] = EXIT_CODES.find(([pattern]) => pattern.test(command)) ?? []
    const exited = new Promise<string | undefined>((resolve) => {
      child.once('close', (code, signal) =>
        resolve(
          expected.some((one) => one === code)
            ? undefined
            : `${command} (${text}): exit ${code ?? signal}: ${output.slice(-600)}`,
        ),
      )
    })
    return { child, exited }
  }
  return {
    async run(command, { peerId, p2p }) {
      const text = EXAMPLES.reduce((line, [pattern, meant]) => line.replace(pattern, meant), command)
      // The same command in another document, or with npx.
      if (ran.has(text)) return undefined
      ran.add(text)
      const [, tool] = /^(curl|fish|script|zsh)\b/.exec(text) ?? []
      if (tool !== undefined && !commandExists(tool)) return undefined
      const [, program] = PROGRAMS.find(([pattern]) => pattern.test(command)) ?? []
      const variables = { PEER: peerId.slice(-8), ADDRESS: p2p }
      const started = start(command, program === undefined ? text : `exec ${text}`, variables)
      if (program === undefined) {
        // The error must name a command that does not end.
        const limit = setTimeout(() => end(started.child, 'SIGKILL'), WAIT_LIMIT_MS)
        return started.exited.finally(() => clearTimeout(limit))
      }
      programs.push(started)
      const answers = untilItAnswers(`http://127.0.0.1:${env[program.port]}`, program.method, started.exited)
      return Promise.race([started.exited.then((problem) => problem ?? `${command} has ended`), answers])
    },
    async stop() {
      // Stops the rollup node first.
      for (const { child, exited } of programs.reverse()) {
        end(child, 'SIGINT')
        await exited
      }
      await guarded.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Signals the whole group, because the shell has children. */
function end({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null) process.kill(-pid, signal)
}

async function untilItAnswers(url: string, method: string, ended: Promise<unknown>): Promise<undefined> {
  const client = createPatientClient({ url })
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  try {
    await until(`an answer of ${url}`, async () => hasEnded || client.request(method, []))
  } finally {
    await client.close()
  }
}

interface Batch {
  hash: string
  input: Uint8Array
}

interface L1Block {
  number: string
  transactions: { hash: string; to: string | null; input: string }[]
}

/** The two latest batcher transactions on L1 with calldata, the latest first. Waits until there are two. */
async function lastBatches(net: Endpoints, inbox: string): Promise<[Batch, Batch]> {
  const l1 = createPatientClient({ url: net.l1.rpc })
  const search = async (): Promise<[Batch, Batch] | undefined> => {
    const found: Batch[] = []
    for (let tag = 'latest'; ; ) {
      const block = (await l1.request('eth_getBlockByNumber', [tag, true])) as L1Block
      for (const { to, hash, input } of block.transactions) {
        if (to?.toLowerCase() === inbox.toLowerCase()) found.push({ hash, input: fromHex(input) })
      }
      const [newest, earlier] = found
      if (newest !== undefined && earlier !== undefined) return [newest, earlier]
      const number = Number(block.number)
      if (number === 0) return undefined
      tag = toQuantity(number - 1)
    }
  }
  try {
    return await until('two batches on L1', search)
  } finally {
    await l1.close()
  }
}
