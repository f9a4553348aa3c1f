// Jobs of secrets.
import { recordSecretReminders, rotateValues, type SecretReminder, secretReminderMail } from '@fairlead/core/secret';
import type { Handler, HandlerParts } from './handler.ts';

// Maximum number of batches per run; the rest waits for the next minute.
const portionsMax = 50;
const portionTimeoutMs = 60_000;

export const rotateSecretsHandler: Handler<'secret.rotate'> = async ({ database, clock, log, secretKeys }) => {
  const sum = { rewrapped: 0, reencrypted: 0, keysDeleted: 0 };
  for (let portion = 0; portion < portionsMax; portion += 1) {
    const done = await database.system('secret.rotate', (tx) => rotateValues({ tx, clock, log }, secretKeys), {
      timeoutMs: portionTimeoutMs,
    });
    sum.rewrapped += done.rewrapped;
    sum.reencrypted += done.reencrypted;
    sum.keysDeleted += done.keysDeleted;
    if (done.rewrapped + done.reencrypted === 0) break;
  }
  if (sum.rewrapped + sum.reencrypted + sum.keysDeleted > 0) log.info(sum, 'secrets were re-encrypted with newer keys');
};

export const remindSecretsHandler: Handler<'secret.remind'> = async (parts) => {
  const { database, clock, log, mailer } = parts;
  const reminders = await database.system('secret.remind', (tx) => recordSecretReminders({ tx, clock, log }));
  if (mailer === null) return;
  for (const reminder of reminders) await send(parts, mailer, reminder);
};

/** A failed mail is not sent again: the dashboard's first page shows the same reminder until the date changes. */
async function send(
  { publicUrl, log }: HandlerParts,
  mailer: NonNullable<HandlerParts['mailer']>,
  reminder: SecretReminder,
): Promise<void> {
  const { organizationId } = reminder;
  for (const to of reminder.recipients) {
    await mailer
      .send(secretReminderMail(reminder, { to, publicUrl }))
      .catch((error: unknown) => log.error({ err: error, organizationId }, 'a reminder of secrets was not sent'));
  }
}
