import { clientSuffix } from '../clients/clients.ts'
import { forkName } from '../forks.ts'
import { contractLines } from '../runner/addresses.ts'
import type { Endpoints, ForkPlan, TestnetEvent } from '../runner/events.ts'
import { gigabytes } from '../runner/resources.ts'
import type { NodeStatus } from '../runner/status.ts'
import type { Output, View } from './view.ts'

/** Prints plain lines, for logs and before and after the live table. */
export function createPlainView(output: Output): View {
  return {
    statusIntervalMs: 10_000,
    handle(event) {
      for (const line of plainLines(event)) output.write(`${line}\n`)
    },
    close() {},
  }
}

export function plainLines(event: TestnetEvent): string[] {
  switch (event.event) {
    case 'starting':
      return [
        `${event.resumed ? 'going on with the chain' : 'starting a new chain'} in ${event.dir}, ${event.nodes} ${event.nodes === 1 ? 'node' : 'nodes'} (about ${gigabytes(event.memoryBytes)} of memory), ${forkText(event.forks)}`,
      ]
    case 'resumed':
      return [
        `  l1 goes on from block ${event.l1Block}; it stood still for ${event.pauseSeconds} s, which the sequencer makes up for first`,
      ]
    case 'progress':
      return [`${event.seconds.toFixed(2).padStart(7)} s  ${event.what}`]
    case 'ready':
      return [
        `ready after ${event.seconds.toFixed(1)} s: all nodes share safe block ${event.safeHeight}`,
        `  (${event.milestones.map(({ what, seconds }) => `${what} ${seconds.toFixed(1)} s`).join(', ')})`,
        ...endpointLines(event),
      ]
    case 'status': {
      const nodes = event.nodes.map(statusText).join(' | ')
      const batch = event.lastSubmission
      const fork = event.fork === undefined ? '' : ` | ${event.fork.active}`
      return [
        `l1 ${event.l1Head ?? '?'}${fork} | last batch in l1 ${batch?.l1Block ?? '-'} | last output ${event.lastOutput ?? '-'} | ${nodes}`,
      ]
    }
    case 'fork':
      return [`  ${forkName(event.fork)} is active from L2 block ${event.block} on`]
    case 'ended':
      return [
        `  ${event.program} ended with ${event.how}; the others go on. The last lines of ${event.log}:`,
        ...event.lastLines.map((line) => `    ${line}`),
      ]
    case 'started-again':
      return [`  ${event.program} was started again`]
    case 'command':
      return [`  ${event.command}: ${event.did}`, `    ${event.lookAt}`]
    case 'scenario':
      return [`${event.name}: ${event.about}`]
    case 'step':
      return [`  ${event.passed ? 'yes' : 'NO '} ${event.seconds.toFixed(1).padStart(5)} s  ${event.what}`]
    case 'verdict':
      return [
        `${event.name} ${event.passed ? 'passed' : 'FAILED'} after ${event.seconds.toFixed(1)} s${event.why === undefined ? '' : `: ${event.why}`}`,
      ]
    case 'timeline':
      return [`timeline: ${event.page}`]
    case 'stopping':
      return [`stopping: ${event.reason}`]
    case 'stopped-part':
      return [`  stopped: ${event.what}`]
    case 'warning':
      return [`  warning: ${event.message}`]
    case 'stopped':
      return ['stopped']
  }
}

/** `Jovian, Karst at 14:03:20`, in the machine's time zone. */
export function forkText({ genesis, later }: ForkPlan): string {
  const clockTime = (time: number) => new Date(time * 1000).toTimeString().slice(0, 'hh:mm:ss'.length)
  return [forkName(genesis), ...later.map(({ fork, time }) => `${forkName(fork)} at ${clockTime(time)}`)].join(', ')
}

function endpointLines(endpoints: Endpoints): string[] {
  const { dashboard, tokenFile, l1, l2, nodes, batcher, accounts, addressesFile, joinUrl, joinDir, dir } = endpoints
  return [
    `  dashboard   ${dashboard}`,
    ...(tokenFile === undefined ? [] : [`  token       ${tokenFile}, for what changes something`]),
    `  L1          ${l1.rpc}  beacon ${l1.beacon}`,
    `  fork        ${forkText(l2.forks)}`,
    ...nodes.map(
      ({ name, clients, ethRpc, rollupRpc, metrics }) =>
        `  ${name.padEnd(10)}  eth ${ethRpc}  rollup ${rollupRpc}  metrics ${metrics}${clientSuffix(clients)}`,
    ),
    `  batcher     admin ${batcher.adminRpc}  metrics ${batcher.metrics}`,
    `  accounts    ${accounts.length} with 10000 ETH on L1 and L2: ${accounts.map(({ name }) => name).join(', ')}`,
    ...accounts
      .slice(0, 3)
      .map(({ name, address, privateKey }) => `    ${name.padEnd(6)}  ${address}  key ${privateKey}`),
    `  contracts   all in ${addressesFile}; on L1:`,
    ...contractLines(endpoints).map((line) => `    ${line}`),
    `  logs        ${dir}/logs`,
    `  one more node: npx devium testnet join ${joinUrl}; by hand: ${joinDir}/join.txt`,
  ]
}

export function statusText({ name, health, unsafe, safe, finalized, peers }: NodeStatus): string {
  if (unsafe === undefined) return `${name} does not answer`
  const state = health === undefined || health.state === 'healthy' ? '' : ` ${health.state}`
  return `${name}${state} unsafe ${unsafe.number} safe ${safe?.number ?? '?'} finalized ${finalized?.number ?? '?'} peers ${peers ?? '?'}`
}
