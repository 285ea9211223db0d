import type { RpcMethod } from './method.ts'

/** The method table as Markdown, one section for each namespace, for docs/rpc.md. */
export function rpcDocument(methods: readonly RpcMethod[]): string {
  const namespaces = Map.groupBy(methods, ({ name }) => name.split('_')[0] ?? '')
  return `${[INTRODUCTION, ...[...namespaces].map(([name, rows]) => section(name, rows))].join('\n\n')}\n`
}

const INTRODUCTION = `# RPC of the rollup node

Generated from the method table in \`src/rpc\`. The same table checks parameters and answers \`rpc_discover\` (an OpenRPC
document). A test keeps this file up to date.

JSON-RPC 2.0 by POST at \`/\` with \`Content-Type: application/json\`, also in batches, or over a WebSocket on the same
port. Parameters are positional; parameters in brackets are optional. A *changing* method changes something. Web pages
of other origins may not call it. With \`--rpc.token-file\`, clients need the token for it. Web pages of other origins may
call no \`admin_*\` method.`

function section(namespace: string, methods: readonly RpcMethod[]): string {
  const admin = methods.every((method) => method.admin) ? '\n\nServed with `--rpc.enable-admin` only.' : ''
  const rows = methods.map(row).join('\n')
  return `## ${namespace}${admin}\n\n| method | parameters | result | what it does |\n|---|---|---|---|\n${rows}`
}

function row({ name, params, result, description, changes }: RpcMethod): string {
  const given = params.map(({ name, expects, optional }) => {
    const text = `${name}: ${expects}`
    return optional ? `[${text}]` : text
  })
  const cells = [`\`${name}\``, given.join('; '), result.text, changes ? `${description} (*changing*)` : description]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
