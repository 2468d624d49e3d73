// What a stranger would write with the client that is generated from api/openapi.yaml.
import { createExec, createSandbox, deleteSandbox, readFile, writeFile } from './generated';
import { createClient, createConfig } from './generated/client';

export async function use(options: { baseUrl: string; auth?: string; fetch?: typeof fetch }): Promise<string[]> {
  const client = createClient(createConfig({ ...options, throwOnError: true }));
  const { data: sandbox } = await createSandbox({ client, body: { labels: { by: 'generated' } }, throwOnError: true });
  const path = { id: sandbox.id };
  try {
    const code = 'open("answer.txt", "w").write(str(6 * 7)); print("done")';
    const ran = await createExec({ client, path, query: { wait: true }, body: { language: 'python', code }, throwOnError: true });
    if (!('exec_id' in ran.data)) throw new Error('with wait it is the result');
    const { data: file } = await readFile({ client, path, query: { path: 'answer.txt' }, parseAs: 'text', throwOnError: true });
    await writeFile({ client, path, query: { path: 'in.txt' }, body: new Blob(['from outside']), throwOnError: true });
    const missing = await readFile({ client, path, query: { path: 'missing.txt' }, throwOnError: false });
    return [ran.data.status, ran.data.stdout.text ?? '', String(file), missing.error?.code ?? ''];
  } finally {
    await deleteSandbox({ client, path, throwOnError: true });
  }
}
